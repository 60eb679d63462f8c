package snapshot

import (
	"encoding/binary"

	"github.com/ringtap/ringtap/callchain"
)

// flow follows arm64 code of a process without its symbols: functions of libraries that
// are not exported have none.
type flow struct {
	read    func(addr uint64, b []byte) int
	pages   map[uint64][]byte   // code by address
	budget  int                 // instructions that may still be looked at
	leaf    uint64              // what the answers below are about
	reaches map[uint64]bool     // of leadsTo
	sites   map[uint64][]uint64 // of callsOf
}

// Bounds on the instructions looked at: in one function, from the beginning of one that
// may be a leaf, and for one thread.
const (
	maxFunction = 1 << 12
	maxLeaf     = 1 << 9
	maxFlow     = 1 << 19
)

// newFlow follows code to a leaf function that waits at an address.
// page is how much of the code is read at once.
const page = 4096

func newFlow(leaf uint64, read func(addr uint64, b []byte) int) *flow {
	return &flow{read: read, pages: make(map[uint64][]byte), budget: maxFlow, leaf: leaf,
		reaches: make(map[uint64]bool), sites: make(map[uint64][]uint64)}
}

// callsOf returns where calls return to that lead to the leaf, in the function that
// begins at start, and in those that it goes on to with a jump.
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
	if f.budget > 0 { // all was looked at
		f.sites[start] = sites
	}
	return sites
}

// leadsTo reports whether the code at start comes to the leaf's instruction without a
// call.
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

// follow visits the instructions that a function may execute, but for those that it
// calls, until visit returns false.
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
				break // the call before does not return, and is the function's last
			}
			limit, f.budget, seen[pc] = limit-1, f.budget-1, true
			if !visit(pc, op) {
				return
			}
			// Loading and branch instructions of the Arm Architecture Reference Manual,
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

// behindStub is where a stub of a linkage table jumps to, if one is at addr:
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

// insn reads an instruction.
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

// begins reports whether a function begins with the instruction, or the space before one.
func begins(op uint32) bool {
	return op == btiC || op == paciasp || op == nop || op == 0 ||
		op&0xffc07fff == 0xa9807bfd // stp x29, x30, [sp, #-n]!
}

func isBL(op uint32) bool { return op>>26 == 0b100101 }

// branch26 is how far b and bl go.
func branch26(op uint32) uint64 { return uint64(int64(int32(op<<6)) >> 6 << 2) }

// Sites is of callchain.Code. On amd64 a call leaves its return address on the stack.
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
