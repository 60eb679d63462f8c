package callframe

// Function is the record of one function (FDE).
type Function struct {
	Start, End uint64 // virtual addresses
	CIE        *CIE
	Program    []byte // call frame instructions
}

// CIE is the record with the part that many functions share.
type CIE struct {
	CodeAlign uint64
	DataAlign int64
	Return    uint8  // column of the return address; 255 for larger columns
	Signal    bool   // 'S': a signal pushed the frame
	Program   []byte // call frame instructions that run before each function's own

	pointers uint8  // encoding of the addresses in its FDEs
	sized    bool   // FDEs have augmentation data with a size ('z')
	as       reader // how numbers are read
}

// record is a CIE or FDE before its content is parsed.
type record struct {
	body  reader // starts at the second field
	addr  uint64 // virtual address of that field
	cie   bool
	owner uint64 // offset in the section of an FDE's CIE
	next  uint64 // offset of the next record
}

// frame reads the start of the record at off; b holds the bytes there. ok is false if there is
// no record, or the section's terminator. The body is the part of the record that is in b.
func (s *Section) frame(off uint64, b []byte) (rec record, ok bool) {
	r := s.reader(b)
	length, wide := r.Uint(4), false
	if length == 0xffffffff {
		length, wide = r.Uint(8), true
	}
	field := off + r.Offset()
	if r.Err() != nil || length == 0 || field > s.size || length > s.size-field {
		return rec, false
	}
	rec.next, rec.addr = field+length, s.addr+field
	rec.body = s.reader(b[r.Offset():][:min(r.Left(), length)])
	id := uint64(0)
	if s.debug && wide {
		id = rec.body.Uint(8)
		rec.cie = id == 1<<64-1
	} else {
		id = rec.body.Uint(4)
		rec.cie = s.debug && id == 0xffffffff || !s.debug && id == 0
	}
	if rec.owner = id; !s.debug {
		rec.owner = field - id
	}
	return rec, rec.body.Err() == nil
}

func (s *Section) reader(b []byte) reader {
	return newReader(b, s.image.Order, int(s.image.WordSize()))
}

// parseCIE parses a complete CIE.
func (s *Section) parseCIE(rec *record) (*CIE, bool) {
	c := &CIE{pointers: encAbsolute, as: s.reader(nil)}
	r := &rec.body
	version := r.Uint(1)
	augmentation := r.CString()
	if version != 1 && version != 3 && version != 4 {
		return nil, false
	}
	if len(augmentation) >= 2 && string(augmentation[:2]) == "eh" {
		r.Uint(r.word) // a pointer that GCC 2 put here
		augmentation = augmentation[2:]
	}
	if version == 4 {
		if addressSize, segmentSize := r.Uint(1), r.Uint(1); addressSize != uint64(r.word) || segmentSize != 0 {
			return nil, false
		}
	}
	c.CodeAlign = r.ULEB()
	c.DataAlign = r.SLEB()
	if version == 1 {
		c.Return = uint8(r.Uint(1))
	} else {
		c.Return = uint8(min(r.ULEB(), 255))
	}
	if r.Err() != nil || !s.augment(c, rec, augmentation) {
		return nil, false
	}
	c.Program = r.Rest()
	return c, true
}

// augment reads the augmentation data of a CIE.
func (s *Section) augment(c *CIE, rec *record, augmentation []byte) bool {
	if len(augmentation) == 0 {
		return true
	}
	if augmentation[0] != 'z' {
		return false // without a size the data can't be skipped
	}
	c.sized = true
	size := rec.body.ULEB()
	start := rec.body.Offset()
	data := s.reader(rec.body.Bytes(size))
	if rec.body.Err() != nil {
		return false
	}
	for _, letter := range augmentation[1:] {
		switch letter {
		case 'R':
			c.pointers = uint8(data.Uint(1))
		case 'P': // the personality routine
			data.pointer(uint8(data.Uint(1)), rec.addr+start, s.addr)
		case 'L': // encoding of pointers to language-specific data in the FDEs
			data.Uint(1)
		case 'S':
			c.Signal = true
		case 'B', 'G': // arm64: signed with the B key; frames with memory tags
		default:
			return data.Err() == nil // unknown letter: the rest can't be located
		}
	}
	return data.Err() == nil
}

// parseRange reads the addresses of an FDE.
func (s *Section) parseRange(rec *record, c *CIE) (start, end uint64, ok bool) {
	r := &rec.body
	start = r.pointer(c.pointers, rec.addr, 0)
	end = r.address(start + r.number(c.pointers))
	return start, end, r.Err() == nil && end > start
}

// parseFDE parses a complete FDE.
func (s *Section) parseFDE(rec *record, c *CIE) (f Function, ok bool) {
	f.CIE = c
	if f.Start, f.End, ok = s.parseRange(rec, c); !ok {
		return f, false
	}
	r := &rec.body
	if c.sized {
		r.Bytes(r.ULEB())
	}
	f.Program = r.Rest()
	return f, r.Err() == nil
}
