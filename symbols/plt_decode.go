package symbols

import "encoding/binary"

// stubsAMD64 decodes the stubs in code, which is at addr. size is the number of bytes per stub.
// If it is 0, it is 16, or 8 in a static program's table. A stub jumps through its slot with
//
//	[endbr64] [bnd] jmp *disp32(%rip)
//
// or, if .plt.sec has the jumps, pushes its number for the dynamic linker:
//
//	[endbr64] push $number
//
// The first stub of .plt does neither.
func stubsAMD64(code []byte, addr, size uint64) []stub {
	switch {
	case size == 8 || size == 16:
	case len(code)%16 == 0 && len(code) >= 16 && code[0] == 0xff && code[1] == 0x35:
		size = 16
	case len(code) >= 14 && code[8] == 0xff && code[9] == 0x25:
		size = 8
	default:
		size = 16
	}
	var stubs []stub
	for off := uint64(0); off+8 <= uint64(len(code)); off += size {
		at := off
		if binary.LittleEndian.Uint32(code[at:]) == 0xfa1e0ff3 { // endbr64
			at += 4
		}
		if code[at] == 0xf2 { // bnd
			at++
		}
		s := stub{addr: addr + off, size: min(size, uint64(len(code))-off)}
		switch {
		case at+6 <= uint64(len(code)) && code[at] == 0xff && code[at+1] == 0x25:
			disp := int32(binary.LittleEndian.Uint32(code[at+2:]))
			s.slot = addr + at + 6 + uint64(int64(disp))
		case at+5 <= uint64(len(code)) && code[at] == 0x68:
			s.index = int(binary.LittleEndian.Uint32(code[at+1:]))
		default:
			continue
		}
		stubs = append(stubs, s)
	}
	return stubs
}

// stubsARM64 decodes stubs of the form
//
//	[bti c]
//	adrp x16, page
//	ldr  x17, [x16, #offset]
//	…
//	br   x17
//
// whose length depends on the linker. The first stub of .plt has the same form, but its slot
// belongs to the dynamic linker and has no name.
func stubsARM64(code []byte, addr, _ uint64) []stub {
	const btiC, brX17 = 0xd503245f, 0xd61f0220
	insn := func(off uint64) uint32 {
		if off+4 > uint64(len(code)) {
			return 0
		}
		return binary.LittleEndian.Uint32(code[off:])
	}
	var stubs []stub
	for off := uint64(0); off+8 <= uint64(len(code)); off += 4 {
		adrp, ldr := insn(off), insn(off+4)
		if adrp&0x9f00001f != 0x90000010 || ldr&0xffc003ff != 0xf9400211 {
			continue
		}
		page := int64(int32(adrp>>5<<13)>>13<<2|int32(adrp>>29&3)) << 12
		s := stub{addr: addr + off, slot: (addr+off)&^0xfff + uint64(page) + uint64(ldr>>10&0xfff)*8}
		end := off + 8
		for end < off+24 && insn(end) != brX17 && end < uint64(len(code)) {
			end += 4
		}
		end = min(end+4, uint64(len(code)))
		if off >= 4 && insn(off-4) == btiC {
			s.addr -= 4
		}
		s.size = addr + end - s.addr
		stubs = append(stubs, s)
		off = end - 4
	}
	return stubs
}
