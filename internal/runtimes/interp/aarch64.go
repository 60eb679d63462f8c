package interp

// MovesARM64 returns by how many bytes an instruction moves the stack pointer, positive if up.
// It returns 0 if the instruction itself does not say (Arm Architecture Reference Manual,
// C4.1).
func MovesARM64(w uint32) uint64 {
	const sp = 31
	indexed := func(mode uint32) bool { return w>>5&31 == sp && mode&1 == 1 } // before or after the access
	switch {
	case w&0xbf8003ff == 0x910003ff: // add sp, sp, #n; sub
		n := uint64(w >> 10 & 0xfff << (12 * (w >> 22 & 1)))
		if w>>30&1 == 1 {
			return -n
		}
		return n
	case w&0x3a000000 == 0x28000000 && indexed(w>>23): // stp, ldp
		size := uint64(4) << (w >> 30 & 3)
		if w>>26&1 == 0 { // vectors encode their sizes in another order
			size = 4 << (w >> 31)
		}
		return uint64(int64(int32(w<<10)>>25)) * size
	case w&0x3b200000 == 0x38000000 && indexed(w>>10): // str, ldr
		return uint64(int64(int32(w<<11) >> 23))
	}
	return 0
}
