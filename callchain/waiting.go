package callchain

import "fmt"

// maxGuesses bounds the words of a stack that are tried as a frame record, and
// maxGuessed the frames that the tries walk: a stack may be made so that each walk
// goes on to its end in vain.
const (
	maxGuesses = 1 << 14
	maxGuessed = 1 << 20
)

// Waiting is Unwind for a thread of which no more is known than where it waits:
// its pc and stack pointer (proc_pid_syscall(5)), which c.Regs are loaded with.
//
// What it lacks is the frame pointer of the functions that have one, down to the
// first that has saved it. Where such a function's frame is met, its record is
// looked for on the stack: two words, of which the second returns behind a call of
// that function, and from which the walk comes to the thread's outermost function.
// calls tells whether the instruction before a return address calls the function
// that holds the address callee, as far as can be known. Where no record, or more
// than the first, would do, the chain ends there and is Lost, or goes on from the
// first.
func (u *Unwinder) Waiting(dst []Frame, space AddressSpace, c *Capture, calls func(ra, callee uint64) bool) ([]Frame, End) {
	dst, end := u.Unwind(dst, space, c)
	if end != Lost || len(dst) == 0 || u.regs.has(u.machine.fp) {
		return dst, end
	}
	from, version := u.regs, versionOf(space)
	known, pcs := len(dst), u.pcs
	callee := pcs[len(pcs)-1]
	if known > 1 {
		callee-- // a return address
	}
	failed := u.lookup(space, version, callee)
	if failed == nil || !failed.needsRecord(u.machine) {
		return dst, Lost
	}
	place := *failed // a lookup may take its place in the cache
	base, data, other := u.mem.base, u.mem.data, u.other
	record := (from.v[u.machine.sp] + 7) &^ 7
	guessed := 0
	for range min(maxGuesses, len(data)/8) {
		if guessed >= maxGuessed {
			break
		}
		u.regs, u.pcs = from, pcs
		u.mem.base, u.mem.data, u.other = base, data, other
		u.regs.set(u.machine.fp, record)
		s := step{exact: known == 1}
		if _, done := u.step(&place, &s); !done {
			if ra := u.regs.v[u.machine.pc]; u.lookup(space, version, ra-1) != nil && calls(ra, callee) {
				if dst, end = u.walk(dst[:known], space, s); end == Complete {
					return dst, end
				}
				guessed += len(dst) - known
			}
		}
		record += 8
	}
	return dst[:known], Lost
}

// needsRecord tells whether the way from the place to its caller goes by the frame
// pointer, or may: functions that align their frame have an expression for that.
func (p *place) needsRecord(m *machine) bool {
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
