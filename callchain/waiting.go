package callchain

import (
	"encoding/binary"
	"fmt"
)

// maxGuesses bounds the words of a stack that are tried as a frame record, and
// maxGuessed the frames that the tries walk: a stack may be made so that each walk
// goes on to its end in vain.
const (
	maxGuesses = 1 << 14
	maxGuessed = 1 << 20
)

// Code tells what instructions of the process call, as far as can be known.
type Code interface {
	// Calls tells whether the instruction before a return address calls the function
	// that holds the address callee.
	Calls(ra, callee uint64) bool
	// Sites returns the return addresses of calls that lead to the address callee, in
	// the function that the instruction before ra calls. The caller leaves the
	// result as it is.
	Sites(ra, callee uint64) []uint64
}

// Waiting is Unwind for a thread of which no more is known than where it waits:
// its pc and stack pointer (proc_pid_syscall(5)), which c.Regs are loaded with.
//
// It lacks the frame pointer of the functions that have one, down to the first
// that has saved it. Where the walk meets such a function's frame, it looks for
// the function's record on the stack: two words, of which the second returns
// behind a call of that function, and from which the walk comes to the thread's
// outermost function. Where no record, or more than the first, would do, the chain
// ends there and is Lost, or goes on from the first. The first is where the function's code
// says that it is: what earlier calls left may lie below it, in a large frame. Where a record leads out of a copy
// that is not c.Whole, the chain is Cut: a later record may be an old one, so the caller
// copies more and asks again.
//
// It also lacks the link register of a function that waits without having saved
// it: see lostLink.
func (u *Unwinder) Waiting(dst []Frame, space AddressSpace, c *Capture, code Code) ([]Frame, End) {
	return u.finish(u.waiting(dst, space, c, code))
}

// waiting is Waiting without the mark where a chain has ended.
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
	place := *failed // a lookup may take its place in the cache
	// Old return addresses lie on a stack too. Code that no table knows tells less about
	// them than tables do, and is asked only where those lead nowhere.
	likely, _ := u.likelyRecord(&place, from.v[u.machine.sp])
	read := u.derivation.code
	u.derivation.code = nil
	frames, found := u.findRecord(dst, space, place, from, likely, pcs, code)
	if u.derivation.code = read; found == Lost && read != nil {
		frames, found = u.findRecord(dst, space, place, from, likely, pcs, code)
	}
	return frames, found
}

// findRecord looks for the record of a function's frame, which dst ends with, and unwinds from it. It is likely
// at one place, if that is not 0.
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

// decides tells whether the walk from a guess, which ended so, is the one to take.
func (u *Unwinder) decides(end End) bool {
	return end == Complete || end == Cut && !u.capture.Whole
}

// lostLink unwinds from a leaf whose return address was in the link register alone.
//
// The leaf's caller has saved its own return address on the stack. For each word
// that follows a call, code tells where the function called there calls the leaf in
// turn. Such a place is the caller's if the tables of leaf and caller lead from it to
// the same word, and from there to the thread's outermost function. Of several such
// places in the caller the first stands for all.
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

// needsLink tells whether the way from the place to its caller goes by the link
// register.
func (p *place) needsLink(m *machine) bool {
	return m.ra != m.pc && p.set != nil && p.set.ra.kind == ruleRegister && p.set.ra.val == int32(m.ra)
}

// needsRecord tells whether the way from the place to its caller goes by the frame
// pointer, or may: functions that align their frame have an expression for that.
func (p *place) needsRecord(m *machine) bool {
	if p.set != nil && p.set.flags&(flagSwitch|flagUnknown) != 0 {
		return false // the record is on another stack
	}
	return p.set == nil || p.set.cfa.kind == ruleValExpr || p.set.cfa.kind == ruleValOffset && p.set.cfa.reg == m.fp
}

// LoadWaiting sets the pc and the stack pointer alone; all other registers are
// unknown.
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
