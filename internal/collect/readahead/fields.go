package readahead

import (
	"fmt"

	"github.com/ringtap/ringtap/ftrace"
	"github.com/ringtap/ringtap/internal/collect/pages"
)

// pageFields are the fields of a tracepoint about one page, or about a folio of 2^order pages.
type pageFields struct {
	device, inode, index *ftrace.Field
	order                *ftrace.Field // nil if the kernel reports single pages only
}

func (f *pageFields) find(format *ftrace.Format) error {
	f.device, f.inode, f.index, f.order = format.Field("s_dev"), format.Field("i_ino"), format.Field("index"), format.Field("order")
	switch {
	case f.device == nil:
		return missing(format, "s_dev")
	case f.inode == nil:
		return missing(format, "i_ino")
	case f.index == nil:
		return missing(format, "index")
	}
	return nil
}

// pages returns the pages of a record.
func (f *pageFields) pages(raw []byte) (first pages.Page, n uint64, ok bool) {
	device, ok1 := f.device.Uint(raw)
	inode, ok2 := f.inode.Uint(raw)
	index, ok3 := f.index.Uint(raw)
	n = 1
	if f.order != nil {
		const greatestOrder = 20
		order, _ := f.order.Uint(raw)
		n <<= min(order, greatestOrder)
	}
	return pages.Page{File: pages.File{Device: device, Inode: inode}, Index: index}, n, ok1 && ok2 && ok3
}

// beginFields are the fields of a tracepoint that says how many pages readahead may read.
type beginFields struct {
	page  pageFields
	count *ftrace.Field
}

func (f *beginFields) find(format *ftrace.Format, count string) error {
	if f.count = format.Field(count); f.count == nil {
		return missing(format, count)
	}
	return f.page.find(format)
}

func (f *beginFields) pages(raw []byte) (first pages.Page, n uint64, ok bool) {
	first, _, ok = f.page.pages(raw)
	n, counted := f.count.Uint(raw)
	return first, n, ok && counted
}

// rangeFields are the fields of a tracepoint about a range of pages.
type rangeFields struct {
	page pageFields
	last *ftrace.Field
}

func (f *rangeFields) find(format *ftrace.Format) error {
	if f.last = format.Field("last_index"); f.last == nil {
		return missing(format, "last_index")
	}
	return f.page.find(format)
}

func (f *rangeFields) pages(raw []byte) (first pages.Page, n uint64, ok bool) {
	first, _, ok = f.page.pages(raw)
	last, ok2 := f.last.Uint(raw)
	return first, last - first.Index + 1, ok && ok2 && last >= first.Index
}

// missing returns the error for a tracepoint that lacks a field.
func missing(format *ftrace.Format, field string) error {
	return fmt.Errorf("this kernel's %s:%s has no field %s", format.System, format.Name, field)
}
