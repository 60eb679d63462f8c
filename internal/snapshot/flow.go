package snapshot

import (
	"encoding/binary"

	"github.com/ringtap/ringtap/callchain"
)

// flow follows arm64 code of a process without symbols, because unexported functions of libraries
// may have none.
type flow struct {
	read    func(addr uint64, b []byte) int
	pages   map[uint64][]byte   // code, by page address
	budget  int                 // instructions that may still be decoded
	leaf    uint64              // address in the leaf function that the maps below are about
	reaches map[uint64]bool     // results of leadsTo
	sites   map[uint64][]uint64 // results of callsOf
}

// Limits on the instructions to decode: in one function, from the start of a possible leaf
// function, and for one thread.
const (
	maxFunction = 1 << 12
	maxLeaf     = 1 << 9
	maxFlow     = 1 << 19
)

// page is how many bytes of code are read at a time.
const page = 4096

// newFlow returns a flow to the leaf function that waits at the address leaf.
func newFlow(leaf uint64, read func(addr uint64, b []byte) int) *flow {
	return &flow{read: read, pages: make(map[uint64][]byte), budget: maxFlow, leaf: leaf,
		reaches: make(map[uint64]bool), sites: make(map[uint64][]uint64)}
}

// callsOf returns the return addresses of calls that lead to the leaf. It searches the function at
// start, and functions that it continues in by a jump.
func (f *flow) callsOf(start uint64) []uint64 {
	sites, known := f.sites[start]
	if known {
		return sites
	}
	f.follow(start, maxFunction, func(pc uint64, op uint32) bool {
		if isBL(op) && f.leadsTo(f.behindStub(pc+branch26(op))) {
			sites = append(sites, pc+4)
		}
		return true
	})
	if f.budget > 0 { // the search was complete
		f.sites[start] = sites
	}
	return sites
}

// leadsTo reports whether the code at start reaches the leaf's instruction without a call.
func (f *flow) leadsTo(start uint64) bool {
	found, known := f.reaches[start]
	if known {
		return found
	}
	f.follow(start, maxLeaf, func(pc uint64, op uint32) bool {
		found = found || pc == f.leaf
		return !found
	})
	if f.budget > 0 {
		f.reaches[start] = found
	}
	return found
}

// follow visits the instructions that a function may execute, except those of functions that it
// calls. It stops when visit returns false.
func (f *flow) follow(start uint64, limit int, visit func(pc uint64, op uint32) bool) {
	seen := make(map[uint64]bool)
	for starts := []uint64{start}; len(starts) > 0; {
		pc := starts[len(starts)-1]
		starts = starts[:len(starts)-1]
		for called := false; !seen[pc]; pc += 4 {
			op, ok := f.insn(pc)
			if !ok || limit == 0 || f.budget == 0 {
				return
			}
			if called && begins(op) {
				break // the call before does not return and is the function's last instruction
			}
			limit, f.budget, seen[pc] = limit-1, f.budget-1, true
			if !visit(pc, op) {
				return
			}
			// The encodings of loads and branches are in the Arm Architecture Reference Manual,
			// C4.1.
			called = isBL(op) || op&0xfffffc1f == 0xd63f0000 // blr
			switch {
			case op>>26 == 0b000101: // b imm26
				starts = append(starts, f.behindStub(pc+branch26(op)))
			case op>>24 == 0b01010100, op>>25&0x3f == 0b011010: // b.cond, cbz, cbnz: imm19
				starts = append(starts, pc+uint64(int64(int32(op<<8))>>13<<2))
			case op>>25&0x3f == 0b011011: // tbz, tbnz: imm14
				starts = append(starts, pc+uint64(int64(int32(op<<13))>>18<<2))
			}
			if op>>26 == 0b000101 || op>>25 == 0b1101011 && !called { // b, ret, br, eret
				break
			}
		}
	}
}

// behindStub returns where a linkage table stub at addr jumps to, or addr if there is none:
//
//	[bti c]; adrp x16, page; ldr x17, [x16, #offset]; …; br x17
//
//	[bti c]; adrp x16, page; ldr x17, [x16, #offset]; …; br x17
func (f *flow) behindStub(addr uint64) uint64 {
	at := addr
	op, _ := f.insn(at)
	if op == btiC {
		at += 4
		op, _ = f.insn(at)
	}
	load, _ := f.insn(at + 4)
	if op&0x9f00001f != 0x90000010 || load&0xffc003ff != 0xf9400211 {
		return addr
	}
	page := int64(int32(op>>5<<13)>>13<<2|int32(op>>29&3)) << 12
	var slot [8]byte
	if f.read(at&^0xfff+uint64(page)+uint64(load>>10&0xfff)*8, slot[:]) < len(slot) {
		return addr
	}
	return binary.LittleEndian.Uint64(slot[:])
}

// insn returns the instruction at pc.
func (f *flow) insn(pc uint64) (op uint32, ok bool) {
	code, known := f.pages[pc&^(page-1)]
	if !known {
		code = make([]byte, page)
		code = code[:f.read(pc&^(page-1), code)]
		f.pages[pc&^(page-1)] = code
	}
	at := pc & (page - 1)
	if at%4 != 0 || at+4 > uint64(len(code)) {
		return 0, false
	}
	return binary.LittleEndian.Uint32(code[at:]), true
}

const (
	btiC    = 0xd503245f
	paciasp = 0xd503233f
	nop     = 0xd503201f
)

// begins reports whether op starts a function, or is padding before one.
func begins(op uint32) bool {
	return op == btiC || op == paciasp || op == nop || op == 0 ||
		op&0xffc07fff == 0xa9807bfd // stp x29, x30, [sp, #-n]!
}

func isBL(op uint32) bool { return op>>26 == 0b100101 }

// branch26 returns the distance that b and bl jump.
func branch26(op uint32) uint64 { return uint64(int64(int32(op<<6)) >> 6 << 2) }

// Sites implements callchain.Code. It is for arm64: on amd64 a call leaves its return address on
// the stack.
func (u *userStacks) Sites(ra, callee uint64) []uint64 {
	var code [8]byte
	if u.read(ra-8, code[:]) < len(code) {
		return nil
	}
	target, direct, ok := callTarget(callchain.ARM64, ra, code)
	if !ok || !direct {
		return nil
	}
	if u.flow == nil || u.flow.leaf != callee {
		u.flow = newFlow(callee, u.read)
	}
	return u.flow.callsOf(u.flow.behindStub(target))
}
