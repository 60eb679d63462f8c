package python

// lineOfIncrements looks up a line in co_lnotab: pairs of bytes, the increase of the
// instruction's offset and the change of the line (Objects/lnotab_notes.txt).
func lineOfIncrements(table []byte, line int, instr int64) int {
	offset := int64(0)
	for ; len(table) >= 2; table = table[2:] {
		if offset += int64(table[0]); offset > instr {
			break
		}
		line += int(int8(table[1]))
	}
	return line
}

// lineOfRanges looks up a line in the co_linetable of 3.10: pairs of bytes, the length of a
// range of instructions and the change of the line. -128 is a range without a line (PEP 626).
func lineOfRanges(table []byte, line int, instr int64) int {
	const none = -128
	end := int64(0)
	for ; len(table) >= 2; table = table[2:] {
		end += int64(table[0])
		change := int(int8(table[1]))
		if change != none {
			line += change
		}
		if instr < end {
			if change == none {
				return 0
			}
			return line
		}
	}
	return 0
}

// Kinds of entries in co_linetable from 3.11 on (Objects/locations.md). Lower kinds have only
// columns.
const (
	oneLine   = 10 // to 12: the line changes by the kind minus 10
	noColumns = 13
	long      = 14
	noLine    = 15
)

// lineOfLocations looks up a line in co_linetable from 3.11 on. An entry starts with a byte
// whose high bit is set. The byte has the kind and the number of code units, minus one. No
// other byte has the high bit.
func lineOfLocations(table []byte, line int, instr int64) int {
	end := int64(0)
	for i := 0; i < len(table); {
		kind := int(table[i] >> 3 & 15)
		end += 2 * (int64(table[i]&7) + 1)
		body := i + 1
		for i++; i < len(table) && table[i]&0x80 == 0; i++ {
		}
		switch kind {
		case noColumns, long:
			line += signed(table[body:i])
		case oneLine, oneLine + 1, oneLine + 2:
			line += kind - oneLine
		}
		if instr < end {
			if kind == noLine {
				return 0
			}
			return line
		}
	}
	return 0
}

// signed decodes a number with six bits per byte, lowest first. Bit 6 is set if another byte
// follows. The number's lowest bit is its sign.
func signed(b []byte) int {
	n := uint32(0)
	for i := range min(len(b), 6) {
		n |= uint32(b[i]&0x3f) << (6 * i)
		if b[i]&0x40 == 0 {
			break
		}
	}
	if n&1 != 0 {
		return -int(n >> 1)
	}
	return int(n >> 1)
}
