package callchain

import (
	"encoding/binary"
	"fmt"
)

// maxGuesses bounds the words of a stack that are tried as a frame record. maxGuessed bounds
// the frames that these tries walk: a stack can be crafted so that each walk goes to its end in
// vain.
const (
	maxGuesses = 1 << 14
	maxGuessed = 1 << 20
)

// Code knows which functions a process's instructions call, as far as that can be known.
type Code interface {
	// Calls reports whether the instruction before a return address calls the function
	// that holds the address callee.
	Calls(ra, callee uint64) bool
	// Sites returns the return addresses of calls that lead to the address callee, in the
	// function called by the instruction before ra. The caller must not change the result.
	Sites(ra, callee uint64) []uint64
}

// Waiting is Unwind for a waiting thread of which only the pc and the stack pointer are known
// (proc_pid_syscall(5)); c.Regs are loaded with LoadWaiting.
//
// The frame pointer is unknown until the walk reaches a function that has saved it. If the walk
// needs it before, Waiting searches the stack for that frame's record. A record is two words.
// The second must return to just after a call of that function, and the walk from there must
// reach the thread's outermost function. The place that the function's code suggests is tried
// first, because a large frame may hold records of earlier calls. Then the first record found
// is used. If none fits, the chain ends there and is Lost.
//
// If a record leads out of a copy that is not c.Whole, the chain is Cut. A later record may be
// an old one, so the caller should copy more and call Waiting again.
//
// The link register is unknown too, if the waiting function has not saved it: see lostLink.
func (u *Unwinder) Waiting(dst []Frame, space AddressSpace, c *Capture, code Code) ([]Frame, End) {
	return u.finish(u.waiting(dst, space, c, code))
}

// waiting is Waiting without the mark at the end of the chain: see finish.
func (u *Unwinder) waiting(dst []Frame, space AddressSpace, c *Capture, code Code) ([]Frame, End) {
	dst, end := u.unwind(dst, space, c)
	if end != Lost || len(dst) == 0 || u.hidden || u.regs.has(u.machine.fp) {
		return dst, end
	}
	from, version := u.regs, versionOf(space)
	known, pcs := len(dst), u.pcs
	callee := pcs[len(pcs)-1]
	if known > 1 {
		callee-- // a return address
	}
	failed := u.lookup(space, version, callee)
	if failed == nil {
		return dst, Lost
	}
	if known == 1 && failed.needsLink(u.machine) {
		return u.lostLink(dst, space, *failed, code)
	}
	if !failed.needsRecord(u.machine) {
		return dst, Lost
	}
	place := *failed // a lookup may overwrite the cache entry
	// The stack also holds old return addresses. Code without a table is a weaker test for them
	// than tables, so it is used only if tables lead nowhere.
	likely, _ := u.likelyRecord(&place, from.v[u.machine.sp])
	read := u.derivation.code
	u.derivation.code = nil
	frames, found := u.findRecord(dst, space, place, from, likely, pcs, code)
	if u.derivation.code = read; found == Lost && read != nil {
		frames, found = u.findRecord(dst, space, place, from, likely, pcs, code)
	}
	return frames, found
}

// findRecord searches for the frame record of the function that dst ends with, and unwinds from
// it. It tries the address likely first, if that is not 0.
func (u *Unwinder) findRecord(dst []Frame, space AddressSpace, place place, from Regs, likely uint64, pcs []uint64, code Code) ([]Frame, End) {
	known, version := len(dst), versionOf(space)
	callee := pcs[len(pcs)-1]
	if known > 1 {
		callee-- // a return address
	}
	base, data, other := u.mem.base, u.mem.data, u.other
	defer func() { u.mem.base, u.mem.data, u.other = base, data, other }()
	word := uint64(u.machine.word)
	guessed := 0
	leads := func(record uint64) (end End, ok bool) {
		u.regs, u.pcs = from, pcs
		u.mem.base, u.mem.data, u.other = base, data, other
		u.switches, u.marked = 0, false
		u.regs.set(u.machine.fp, record)
		s := step{exact: known == 1}
		if _, done := u.step(&place, &s); done {
			return Lost, false
		}
		if ra := u.regs.v[u.machine.pc]; u.lookup(space, version, ra-1) == nil || !code.Calls(ra, callee) {
			return Lost, false
		}
		dst, end = u.walk(dst[:known], space, s)
		guessed += len(dst) - known
		return end, u.decides(end)
	}
	if likely != 0 {
		if end, ok := leads(likely); ok {
			return dst, end
		}
	}
	record := (from.v[u.machine.sp] + word - 1) &^ (word - 1)
	for range min(maxGuesses, len(data)/int(word)) {
		if guessed >= maxGuessed {
			break
		}
		if end, ok := leads(record); ok {
			return dst, end
		}
		record += word
	}
	u.switching, u.marked = false, false
	return dst[:known], Lost
}

// decides reports whether a walk that ended with end makes the guess the right one.
func (u *Unwinder) decides(end End) bool {
	return end == Complete || end == Cut && !u.capture.Whole
}

// lostLink unwinds from a leaf whose return address was only in the link register.
//
// The leaf's caller has saved its own return address on the stack. For each word that follows a
// call, code lists the places where the function called there calls the leaf. Such a place is
// right if the tables of leaf and caller lead from it to the same word, and from there to the
// thread's outermost function. If several places in the caller fit, the first is used.
func (u *Unwinder) lostLink(dst []Frame, space AddressSpace, leaf place, code Code) ([]Frame, End) {
	m, version := u.machine, versionOf(space)
	from, base, data, other := u.regs, u.mem.base, u.mem.data, u.other
	for off := -base & 7; off+8 <= uint64(min(maxGuesses*8, len(data))); off += 8 {
		ra := stripPAC(binary.LittleEndian.Uint64(data[off:]))
		if u.lookup(space, version, ra-1) == nil {
			continue
		}
		for _, site := range code.Sites(ra, leaf.at) {
			u.regs = from
			u.mem.base, u.mem.data, u.other = base, data, other
			u.regs.set(m.ra, site)
			s := step{leaf: true, exact: true}
			if _, done := u.step(&leaf, &s); done {
				continue
			}
			p := u.lookup(space, version, site-1)
			if p == nil {
				continue
			}
			caller := *p
			if caller.needsRecord(m) {
				u.regs.set(m.fp, base+off-8)
			}
			if _, done := u.step(&caller, &s); done || u.regs.v[m.pc] != ra {
				continue
			}
			frames, end := u.walk(append(dst[:1], caller.caller()), space, s)
			if u.decides(end) {
				return frames, end
			}
		}
	}
	return dst[:1], Lost
}

// needsLink reports whether leaving the place needs the link register.
func (p *place) needsLink(m *machine) bool {
	return m.ra != m.pc && p.set != nil && p.set.ra.kind == ruleRegister && p.set.ra.val == int32(m.ra)
}

// needsRecord reports whether leaving the place needs, or may need, the frame pointer.
// Functions that align their frame have an expression for that.
func (p *place) needsRecord(m *machine) bool {
	if p.set != nil && p.set.flags&(flagSwitch|flagUnknown) != 0 {
		return false // the record is on another stack
	}
	return p.set == nil || p.set.cfa.kind == ruleValExpr || p.set.cfa.kind == ruleValOffset && p.set.cfa.reg == m.fp
}

// LoadWaiting sets the pc and the stack pointer; all other registers are unknown.
func (r *Regs) LoadWaiting(arch Arch, pc, sp uint64) error {
	m := describe(arch)
	if m == nil {
		return fmt.Errorf("load registers: unknown machine %v", arch)
	}
	*r = Regs{arch: arch}
	r.set(m.pc, pc)
	r.set(m.sp, sp)
	return nil
}
