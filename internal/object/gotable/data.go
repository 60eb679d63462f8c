package gotable

import (
	"bytes"
	"sync"
	"sync/atomic"

	"github.com/ringtap/ringtap/internal/object/elfimage"
)

// A table is read in pages of this many bytes. Once more than fewPages pages and a quarter
// (1/fewParts) of the table were read, the rest is read too, unless the table is larger than
// maxWhole bytes. Then at most keptPages pages are cached: a run may see many programs, each
// with tables of a hundred megabytes.
const (
	page      = 4 << 10
	fewPages  = 32
	fewParts  = 4
	maxWhole  = 4 << 20 // bytes
	keptPages = maxWhole / page
)

// data holds a table's bytes, which are read on demand. Bytes that can't be read count as
// outside the table.
type data struct {
	image  *elfimage.Image
	offset uint64 // in the file
	size   uint64

	whole atomic.Pointer[[]byte]
	mu    sync.Mutex
	pages map[uint64][]byte // by page number
}

func inMemory(b []byte) *data {
	d := &data{size: uint64(len(b))}
	d.whole.Store(&b)
	return d
}

// upTo returns n bytes starting at off, or fewer at the end of the table.
func (d *data) upTo(off, n uint64) []byte {
	if off >= d.size {
		return nil
	}
	n = min(n, d.size-off)
	if whole := d.whole.Load(); whole != nil {
		return (*whole)[off : off+n]
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	first, last := off/page, (off+n-1)/page
	if first == last {
		return cut(d.page(first), off%page, n)
	}
	b := make([]byte, 0, n)
	for i := first; i <= last; i++ {
		at := max(off, i*page)
		part := cut(d.page(i), at%page, off+n-at)
		if b = append(b, part...); uint64(len(b)) < min(n, (i+1)*page-off) {
			break // the file is shorter
		}
	}
	return b
}

// cut returns at most n bytes of b, starting at off.
func cut(b []byte, off, n uint64) []byte {
	b = b[min(off, uint64(len(b))):]
	return b[:min(n, uint64(len(b)))]
}

// page returns page i. The caller holds d.mu.
func (d *data) page(i uint64) []byte {
	if whole := d.whole.Load(); whole != nil {
		return cut(*whole, i*page, page)
	}
	if b, ok := d.pages[i]; ok {
		return b
	}
	if d.size <= maxWhole && len(d.pages) > fewPages && uint64(len(d.pages)) > d.size/page/fewParts {
		if b, err := d.image.Read(d.offset, d.size, maxTable); err == nil {
			d.whole.Store(&b)
			d.pages = nil
			return cut(b, i*page, page)
		}
	}
	if d.pages == nil || len(d.pages) == keptPages {
		d.pages = make(map[uint64][]byte)
	}
	b := make([]byte, min(page, d.size-i*page))
	n, _ := d.image.Reader.ReadAt(b, int64(d.offset+i*page))
	d.pages[i] = b[:n]
	return b[:n]
}

// part is a part of a table, starting at an offset.
type part struct {
	data      *data
	off, size uint64
}

// from returns p without its first n bytes.
func (p part) from(n uint64) part {
	n = min(n, p.size)
	return part{p.data, p.off + n, p.size - n}
}

// upTo returns n bytes starting at off, or fewer at the end.
func (p part) upTo(off, n uint64) []byte {
	if off >= p.size {
		return nil
	}
	return p.data.upTo(p.off+off, min(n, p.size-off))
}

// bytes returns n bytes at an offset, or nil if some are missing.
func (p part) bytes(off, n uint64) []byte {
	if b := p.upTo(off, n); uint64(len(b)) == n {
		return b
	}
	return nil
}

// u8 reads a byte, or returns 0 outside the part.
func (p part) u8(off uint64) uint8 {
	if b := p.bytes(off, 1); b != nil {
		return b[0]
	}
	return 0
}

// text returns the bytes from off up to a NUL, at most limit bytes.
func (p part) text(off, limit uint64) []byte {
	for n := uint64(128); ; n *= 8 {
		b := p.upTo(off, min(n, limit))
		if i := bytes.IndexByte(b, 0); i >= 0 {
			return b[:i]
		}
		if uint64(len(b)) < n {
			return b
		}
	}
}
