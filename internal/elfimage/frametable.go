package elfimage

import "debug/elf"

// FrameTable is the search table of .eh_frame_hdr (Linux Standard Base, "The
// .eh_frame_hdr section"): where each function begins that .eh_frame describes, sorted.
// Stripped files keep it: exceptions are thrown by it.
type FrameTable struct {
	image *Image
	vaddr uint64 // of .eh_frame_hdr
	first uint64 // file offset of the first entry
	count uint64
}

// The form of the table that all linkers write: a pointer to .eh_frame of four bytes, a
// count of four bytes, and for each function its address and that of its record, both
// of four bytes and relative to .eh_frame_hdr.
const (
	frameTableHead  = 12
	frameTableEntry = 8

	encodedCount   = 0x03 // DW_EH_PE_udata4; DW_EH_PE_sdata4 differs in the highest bit of the form
	encodedEntries = 0x3b // DW_EH_PE_datarel | DW_EH_PE_sdata4
)

// FrameTable finds the table; false if the file has none, or one of another form.
func (m *Image) FrameTable() (FrameTable, bool) {
	for i := range m.Segments {
		p := &m.Segments[i]
		if p.Type != elf.PT_GNU_EH_FRAME {
			continue
		}
		b, err := m.Read(p.Off, frameTableHead, frameTableHead)
		if err != nil || b[0] != 1 || b[1]&0x07 != encodedCount || b[2] != encodedCount || b[3] != encodedEntries {
			return FrameTable{}, false
		}
		t := FrameTable{image: m, vaddr: p.Vaddr, first: p.Off + frameTableHead, count: uint64(m.Order.Uint32(b[8:]))}
		return t, p.Filesz >= frameTableHead && t.count <= (p.Filesz-frameTableHead)/frameTableEntry
	}
	return FrameTable{}, false
}

// Function returns the addresses of the first byte of the function that holds the byte
// at vaddr and of the byte behind its last. It reads some twenty words of the file.
func (t *FrameTable) Function(vaddr uint64) (start, end uint64, ok bool) {
	var record uint64
	for lo, hi := uint64(0), t.count; lo < hi; {
		mid := (lo + hi) / 2
		b, err := t.image.Read(t.first+mid*frameTableEntry, frameTableEntry, frameTableEntry)
		if err != nil {
			return 0, 0, false
		}
		if at := t.relative(t.vaddr, b); at <= vaddr {
			start, record, ok = at, t.relative(t.vaddr, b[4:]), true
			lo = mid + 1
		} else {
			hi = mid
		}
	}
	if !ok {
		return 0, 0, false
	}
	size, ok := t.size(record, start)
	return start, start + size, ok && vaddr-start < size
}

// relative is the address that a number of four bytes gives, counted from another.
func (t *FrameTable) relative(from uint64, b []byte) uint64 {
	addr := from + uint64(int64(int32(t.image.Order.Uint32(b))))
	if !t.image.Is64 {
		addr = uint64(uint32(addr))
	}
	return addr
}

// size is the size of the function that begins at start, from its record. How the
// record encodes addresses stands in another record; the only encoding that gives the
// function's start is the one.
func (t *FrameTable) size(record, start uint64) (uint64, bool) {
	const head = 8 // the length and the place of the other record
	offset, ok := t.image.Offset(record)
	if !ok {
		return 0, false
	}
	b, err := t.image.Read(offset, head+16, head+16)
	if err != nil {
		// The last record of a file may be shorter.
		if b, err = t.image.Read(offset, head+8, head+8); err != nil {
			return 0, false
		}
	}
	at, b := record+head, b[head:]
	order := t.image.Order
	switch {
	case len(b) == 16 && (at+order.Uint64(b) == start || order.Uint64(b) == start):
		return order.Uint64(b[8:]), true
	case t.relative(at, b) == start, uint64(order.Uint32(b)) == start:
		return uint64(order.Uint32(b[4:])), true
	}
	return 0, false
}
