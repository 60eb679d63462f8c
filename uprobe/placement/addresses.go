package placement

import (
	"debug/elf"
	"encoding/binary"

	"golang.org/x/arch/x86/x86asm"
)

// Addresses returns the addresses that the function's instructions compute from the program
// counter or contain as constants (computed), and the addresses of words that they load from a
// fixed place (loaded). The resolver of an IFUNC finds the functions that it may return in one
// of these ways. Other numbers may look the same, so callers must check what is at an address.
func (f *Function) Addresses() (computed, loaded []uint64) {
	if f.Machine == elf.EM_AARCH64 {
		return f.aarch64Addresses()
	}
	_ = f.each(func(offset int, in instruction) bool {
		inst, err := x86asm.Decode(f.Code[offset:], f.bits())
		if err != nil || inst.Len != in.length {
			return true // a vector instruction
		}
		for i, arg := range inst.Args {
			switch arg := arg.(type) {
			case x86asm.Mem:
				at := f.Addr + uint64(offset+inst.Len) + uint64(int64(int32(arg.Disp)))
				switch {
				case arg.Base != x86asm.RIP || arg.Index != 0 || i == 0:
				case inst.Op == x86asm.LEA:
					computed = append(computed, at)
				default:
					loaded = append(loaded, at)
				}
			case x86asm.Imm:
				if inst.Op == x86asm.MOV {
					computed = append(computed, uint64(arg))
				}
			}
		}
		return true
	})
	return computed, loaded
}

// aarch64Addresses follows ADRP to the ADD or LDR that completes an address. The compiler may
// put other instructions between the two, but uses the same register in both.
func (f *Function) aarch64Addresses() (computed, loaded []uint64) {
	var pages [32]uint64 // ADRP's result in each register
	for offset := 0; offset+4 <= len(f.Code); offset += 4 {
		w := binary.LittleEndian.Uint32(f.Code[offset:])
		addr := f.Addr + uint64(offset)
		to, from := w&31, w>>5&31
		distance := uint64(int64(int32(w<<8)>>13)<<2 | int64(w>>29&3))
		switch {
		case w&0x9f000000 == 0x90000000: // ADRP
			pages[to] = addr&^0xfff + distance<<12
		case w&0x9f000000 == 0x10000000: // ADR
			computed = append(computed, addr+distance)
		case w&0xffc00000 == 0x91000000 && pages[from] != 0: // ADD of an immediate
			computed = append(computed, pages[from]+uint64(w>>10&0xfff))
		case w&0xffc00000 == 0xf9400000 && pages[from] != 0: // LDR of a word
			loaded = append(loaded, pages[from]+uint64(w>>10&0xfff)*8)
		}
	}
	return computed, loaded
}

// Calls reports whether the function calls other code. If its code cannot be decoded, it
// returns true.
func (f *Function) Calls() bool {
	calls := false
	err := f.each(func(offset int, in instruction) bool {
		calls = calls || in.flow == flowNext && in.direct || f.callsIndirectly(offset)
		return true
	})
	return calls || err != nil
}

// callsIndirectly reports whether an instruction calls the address in a register or in memory.
func (f *Function) callsIndirectly(offset int) bool {
	if f.Machine == elf.EM_AARCH64 {
		return binary.LittleEndian.Uint32(f.Code[offset:])&0xfffffc1f == 0xd63f0000 // BLR
	}
	inst, err := x86asm.Decode(f.Code[offset:], f.bits())
	return err == nil && inst.Op == x86asm.CALL
}
