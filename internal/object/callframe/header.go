package callframe

import (
	"debug/elf"
	"fmt"
	"sort"

	"github.com/ringtap/ringtap/internal/object/elfimage"
)

// place is the start of a function and the place of its record.
type place struct {
	start  uint64 // virtual address
	record uint64 // offset in the section; in a searchTable virtual address
}

// lastPlace returns the index of the last place that starts at or before an address, or -1.
func lastPlace(places []place, vaddr uint64) int {
	return sort.Search(len(places), func(i int) bool { return places[i].start > vaddr }) - 1
}

// header is a file's .eh_frame_hdr (Linux Standard Base, "The .eh_frame_hdr section"): version,
// three encodings, a pointer to .eh_frame, the number of functions, and for each function its
// address and its record's address, sorted.
type header struct {
	image *elfimage.Image
	vaddr uint64
	size  uint64
	head  []byte
}

func findHeader(m *elfimage.Image) *header {
	for i := range m.Segments {
		if p := &m.Segments[i]; p.Type == elf.PT_GNU_EH_FRAME {
			size := min(p.Filesz, maxSection)
			b, err := m.Read(p.Off, min(size, 64), 64)
			if err != nil {
				return nil
			}
			return &header{m, p.Vaddr, size, b}
		}
	}
	return nil
}

// fields reads the fields before the search table.
func (h *header) fields() (r reader, version, countEnc, tableEnc uint8, frames uint64) {
	r = newReader(h.head, h.image.Order, int(h.image.WordSize()))
	version = uint8(r.Uint(1))
	framesEnc := uint8(r.Uint(1))
	countEnc, tableEnc = uint8(r.Uint(1)), uint8(r.Uint(1))
	return r, version, countEnc, tableEnc, r.pointer(framesEnc, h.vaddr, h.vaddr)
}

// frames returns the address of .eh_frame. Its size is unknown: it ends with a terminator, or
// with its segment.
func (h *header) frames() (uint64, error) {
	r, version, _, _, frames := h.fields()
	if version != 1 || r.Err() != nil {
		return 0, fmt.Errorf("read .eh_frame_hdr: version %d, or its pointer to .eh_frame, is not supported", version)
	}
	return frames, nil
}

// searchTable is the header's table in the only form that linkers write: two four-byte numbers
// per function, relative to the header.
type searchTable struct {
	image  *elfimage.Image
	vaddr  uint64 // of the header
	offset uint64 // of the table in the file
	count  int

	block []byte // entries read last
	first int    // index of block's first entry
}

// searchEntry is the size of an entry in bytes. searchBlock is how many entries are read at
// once.
const (
	searchEntry = 8
	searchBlock = 1024
)

// table returns the search table, or nil if there is none or it has another form.
func (h *header) table() *searchTable {
	r, version, countEnc, tableEnc, _ := h.fields()
	if countEnc == encOmit || tableEnc != encDataRel|encSdata4 {
		return nil
	}
	count := r.pointer(countEnc, h.vaddr, h.vaddr)
	offset, ok := h.image.Offset(h.vaddr)
	if version != 1 || r.Err() != nil || !ok || count == 0 || count > maxFunctions || count*searchEntry > h.size-r.Offset() {
		return nil
	}
	return &searchTable{image: h.image, vaddr: h.vaddr, offset: offset + r.Offset(), count: int(count)}
}

// place returns entry i. If it is not in the block, place reads it and ahead entries after it.
func (t *searchTable) place(i, ahead int) (p place, ok bool) {
	if i < 0 || i >= t.count {
		return p, false
	}
	at := i - t.first
	if at < 0 || (at+1)*searchEntry > len(t.block) {
		t.read(i, 1+ahead)
		at = 0
	}
	if len(t.block) == 0 {
		return p, false
	}
	b := t.block[at*searchEntry:]
	relative := func(v uint32) uint64 {
		v64 := t.vaddr + uint64(int64(int32(v)))
		if !t.image.Is64 {
			v64 = uint64(uint32(v64))
		}
		return v64
	}
	return place{relative(t.image.Order.Uint32(b)), relative(t.image.Order.Uint32(b[4:]))}, true
}

// read fills the block with n entries, starting with entry i.
func (t *searchTable) read(i, n int) {
	n = min(n, t.count-i)
	if cap(t.block) < n*searchEntry {
		t.block = make([]byte, n*searchEntry)
	}
	t.block = t.block[:n*searchEntry]
	t.first = i
	if got, _ := t.image.Reader.ReadAt(t.block, int64(t.offset)+int64(i)*searchEntry); got < len(t.block) {
		t.block = t.block[:0]
	}
}

// last returns the last entry that starts at or before an address, or index -1 if there is
// none. ok is false if the table can't be read.
func (t *searchTable) last(vaddr uint64) (i int, p place, ok bool) {
	lo, hi := 0, t.count // entry lo-1 starts at or before vaddr, entry hi after it
	for lo < hi {
		if hi-lo <= searchBlock && (lo < t.first || (hi-t.first)*searchEntry > len(t.block)) {
			t.read(lo, hi-lo)
		}
		mid := int(uint(lo+hi) >> 1)
		p, ok := t.place(mid, 0)
		if !ok {
			return 0, p, false
		}
		if p.start <= vaddr {
			lo = mid + 1
		} else {
			hi = mid
		}
	}
	if lo == 0 {
		return -1, p, true
	}
	p, ok = t.place(lo-1, 0)
	return lo - 1, p, ok
}

// finding is the result of a lookup in the search table.
type finding uint8

const (
	holds  finding = iota // the table has the function with the address
	absent                // no function has the address
	lies                  // the table contradicts the records
)

// search looks an address up in the header's table.
func (s *Section) search(vaddr uint64) (Function, finding) {
	i, p, ok := s.header.last(vaddr)
	if !ok {
		return Function{}, lies
	}
	if i < 0 {
		return Function{}, absent
	}
	off := p.record - s.addr
	if off >= s.size {
		return Function{}, lies
	}
	f, ok := s.function(off)
	switch {
	case !ok:
		// A record that we can't parse is not the table's fault.
		if rec, ok := s.record(off, maxFDE); ok && !rec.cie {
			return f, absent
		}
		return f, lies
	case f.Start != p.start:
		return f, lies
	case vaddr-f.Start >= f.End-f.Start:
		return f, absent
	}
	return f, holds
}
