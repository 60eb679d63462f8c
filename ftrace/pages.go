package ftrace

import (
	"encoding/binary"
	"errors"
	"fmt"
	"strconv"
	"strings"
)

// Entry is one record of a trace buffer.
type Entry struct {
	CPU  int
	Time uint64 // nanoseconds of the buffer's trace_clock
	// Lost is the number of records of this CPU that are missing right before this one, because
	// they were overwritten before they were read. It is LostSome if the kernel does not say
	// how many.
	Lost uint64
	Raw  []byte // the record, starting with its common_type; at most 4 KiB
}

// LostSome is the value of Entry.Lost if the kernel had no room to store the number.
const LostSome = ^uint64(0)

// Type returns the number of the event, the ID in its format: common_type.
func (e *Entry) Type() int {
	if len(e.Raw) < 2 {
		return 0
	}
	return int(binary.LittleEndian.Uint16(e.Raw))
}

// PID returns the thread that was running, common_pid.
func (e *Entry) PID() int {
	if len(e.Raw) < 8 {
		return 0
	}
	return int(int32(binary.LittleEndian.Uint32(e.Raw[4:])))
}

// pageLayout is the layout of a page of a trace buffer, from the file events/header_page.
type pageLayout struct {
	commit int // offset of the number of used bytes, and of the flags
	data   int // offset of the first record
	size   int // bytes of a page when it is read
}

// maxSubBuffer limits the page size: there are 64 KiB pages, and ring buffers with larger
// sub-buffers (Linux 6.8, buffer_subbuf_size_kb).
const maxSubBuffer = 16 << 20

var errLayout = errors.New("the description of trace buffer pages makes no sense")

// parsePageLayout parses events/header_page. Its lines are "field: u64 timestamp; offset:0;
// size:8; signed:0;".
func parsePageLayout(text string) (pageLayout, error) {
	layout := pageLayout{commit: -1, data: -1}
	for line := range strings.Lines(text) {
		parts := strings.Split(line, ";")
		if len(parts) < 3 {
			continue
		}
		name := parts[0][strings.LastIndexByte(parts[0], ' ')+1:]
		offset, err1 := strconv.Atoi(strings.TrimPrefix(strings.TrimSpace(parts[1]), "offset:"))
		size, err2 := strconv.Atoi(strings.TrimPrefix(strings.TrimSpace(parts[2]), "size:"))
		if err1 != nil || err2 != nil || offset < 0 || size < 0 || offset > maxSubBuffer || size > maxSubBuffer {
			return pageLayout{}, fmt.Errorf("%w: %q", errLayout, strings.TrimSpace(line))
		}
		switch name {
		case "commit":
			layout.commit = offset
			if size != 8 {
				return pageLayout{}, fmt.Errorf("%w: a commit of %d bytes", errLayout, size)
			}
		case "data":
			layout.data, layout.size = offset, offset+size
		}
	}
	if layout.commit < 0 || layout.commit+8 > layout.data || layout.data < 16 || layout.size <= layout.data {
		return pageLayout{}, errLayout
	}
	return layout, nil
}

// Kinds of entries in a page (events/header_event; include/linux/ring_buffer.h, enum
// ring_buffer_type). Up to lengthInHead, the kind is the entry's length in words.
const (
	lengthInHead = 28
	kindPadding  = 29
	kindExtend   = 30
	kindStamp    = 31
)

// Flags in the commit field of a page (kernel/trace/ring_buffer.c).
const (
	missedEvents = 1 << 31
	missedStored = 1 << 30 // the number is stored after the last record
	commitMask   = 1<<20 - 1
	deltaBits    = 27
	stampBits    = 59
)

// appendPage appends the records of a page. They share the page's memory.
func (l pageLayout) appendPage(entries []Entry, page []byte, cpu int) ([]Entry, error) {
	if len(page) < l.data {
		return entries, fmt.Errorf("a page of the trace buffer has %d bytes", len(page))
	}
	now := binary.LittleEndian.Uint64(page)
	commit := binary.LittleEndian.Uint64(page[l.commit:])
	used := int(commit & commitMask)
	data := page[l.data:]
	if used > len(data) {
		return entries, fmt.Errorf("a page of the trace buffer holds %d bytes of %d", used, len(data))
	}
	lost := uint64(0)
	if commit&missedEvents != 0 {
		lost = LostSome
		if commit&missedStored != 0 && used+8 <= len(data) {
			lost = binary.LittleEndian.Uint64(data[used:])
		}
	}
	data = data[:used]
	for len(data) >= 4 {
		head := binary.LittleEndian.Uint32(data)
		kind, delta := head&31, uint64(head>>5)
		length := int(kind) * 4 // of the data after the header
		extra := uint64(0)
		if kind == 0 || kind > lengthInHead {
			if len(data) < 8 {
				break
			}
			extra = uint64(binary.LittleEndian.Uint32(data[4:]))
		}
		switch {
		case kind == kindPadding && delta == 0:
			return entries, nil // the rest of the page is empty
		case kind == kindPadding:
			length = int(min(extra, maxSubBuffer)) // without the header
		case kind == kindExtend:
			now += extra<<deltaBits + delta
			length = 4
		case kind == kindStamp:
			// The upper five bits come from the last time. The clock may have overflowed into
			// them since.
			stamp := extra<<deltaBits + delta | now&^(1<<stampBits-1)
			if stamp < now {
				stamp += 1 << stampBits
			}
			now, length = stamp, 4
		case kind == 0:
			length = int(min(extra, maxSubBuffer)) // includes the length word itself
		}
		if length < 4 || 4+length > len(data) {
			return entries, fmt.Errorf("a record of %d bytes, where %d are left in the page of the trace buffer", length, len(data)-4)
		}
		if kind <= lengthInHead {
			now += delta
			raw := data[4 : 4+length]
			if kind == 0 {
				raw = raw[4:]
			}
			entries = append(entries, Entry{CPU: cpu, Time: now, Lost: lost, Raw: raw})
			lost = 0
		}
		data = data[min(4+(length+3)&^3, len(data)):]
	}
	return entries, nil
}
