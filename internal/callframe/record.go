package callframe

// Function is the record of one function (FDE).
type Function struct {
	Start, End uint64 // virtual addresses
	CIE        *CIE
	Program    []byte // call frame instructions
}

// CIE is the record that many functions share.
type CIE struct {
	CodeAlign uint64
	DataAlign int64
	Return    uint8  // column of the return address; 255 for any above
	Signal    bool   // 'S': a frame that a signal has pushed
	Program   []byte // call frame instructions that each function begins with

	pointers uint8  // encoding of the addresses in its FDEs
	sized    bool   // FDEs carry augmentation data with a size ('z')
	as       reader // how numbers are read
}

// record is the frame of a CIE or FDE.
type record struct {
	body  reader // from the second field on
	addr  uint64 // virtual address of that field
	cie   bool
	owner uint64 // of an FDE: the offset in the section of its CIE
	next  uint64 // offset of the record behind this one
}

// frame reads the beginning of the record at an offset, from b, the bytes there.
// ok is false if it is no record, or the section's terminator. The body is what of
// it b has.
func (s *Section) frame(off uint64, b []byte) (rec record, ok bool) {
	r := s.reader(b)
	length, wide := r.unsigned(4), false
	if length == 0xffffffff {
		length, wide = r.unsigned(8), true
	}
	field := off + uint64(r.off)
	if r.bad || length == 0 || field > s.size || length > s.size-field {
		return rec, false
	}
	rec.next, rec.addr = field+length, s.addr+field
	rec.body = s.reader(b[r.off:][:min(uint64(len(b)-r.off), length)])
	id := uint64(0)
	if s.debug && wide {
		id = rec.body.unsigned(8)
		rec.cie = id == 1<<64-1
	} else {
		id = rec.body.unsigned(4)
		rec.cie = s.debug && id == 0xffffffff || !s.debug && id == 0
	}
	if rec.owner = id; !s.debug {
		rec.owner = field - id
	}
	return rec, !rec.body.bad
}

func (s *Section) reader(b []byte) reader {
	return reader{data: b, order: s.image.Order, word: int(s.image.WordSize())}
}

// parseCIE reads a CIE whole.
func (s *Section) parseCIE(rec *record) (*CIE, bool) {
	c := &CIE{pointers: encAbsolute, as: s.reader(nil)}
	r := &rec.body
	version := r.unsigned(1)
	augmentation := r.text()
	if version != 1 && version != 3 && version != 4 {
		return nil, false
	}
	if len(augmentation) >= 2 && string(augmentation[:2]) == "eh" {
		r.unsigned(r.word) // a pointer that GCC 2 put here
		augmentation = augmentation[2:]
	}
	if version == 4 {
		if addressSize, segmentSize := r.unsigned(1), r.unsigned(1); addressSize != uint64(r.word) || segmentSize != 0 {
			return nil, false
		}
	}
	c.CodeAlign = r.uleb()
	c.DataAlign = r.sleb()
	if version == 1 {
		c.Return = uint8(r.unsigned(1))
	} else {
		c.Return = uint8(min(r.uleb(), 255))
	}
	if r.bad || !s.augment(c, rec, augmentation) {
		return nil, false
	}
	c.Program = r.data[r.off:]
	return c, true
}

// augment reads the augmentation data of a CIE.
func (s *Section) augment(c *CIE, rec *record, augmentation []byte) bool {
	if len(augmentation) == 0 {
		return true
	}
	if augmentation[0] != 'z' {
		return false // without a size what follows can't be skipped
	}
	c.sized = true
	size := rec.body.uleb()
	start := uint64(rec.body.off)
	data := s.reader(rec.body.bytes(size))
	if rec.body.bad {
		return false
	}
	for _, letter := range augmentation[1:] {
		switch letter {
		case 'R':
			c.pointers = uint8(data.unsigned(1))
		case 'P': // the personality routine
			data.pointer(uint8(data.unsigned(1)), rec.addr+start, s.addr)
		case 'L': // encoding of the language's own data in the FDEs
			data.unsigned(1)
		case 'S':
			c.Signal = true
		case 'B', 'G': // arm64: signed with the B key, memory tagging of frames
		default:
			return !data.bad // unknown, and so is the place of what follows
		}
	}
	return !data.bad
}

// parseRange reads the addresses of an FDE.
func (s *Section) parseRange(rec *record, c *CIE) (start, end uint64, ok bool) {
	r := &rec.body
	start = r.pointer(c.pointers, rec.addr, 0)
	end = r.address(start + r.number(c.pointers))
	return start, end, !r.bad && end > start
}

// parseFDE reads an FDE whole.
func (s *Section) parseFDE(rec *record, c *CIE) (f Function, ok bool) {
	f.CIE = c
	if f.Start, f.End, ok = s.parseRange(rec, c); !ok {
		return f, false
	}
	r := &rec.body
	if c.sized {
		r.bytes(r.uleb())
	}
	f.Program = r.data[r.off:]
	return f, !r.bad
}
