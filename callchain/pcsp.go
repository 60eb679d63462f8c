package callchain

import (
	"errors"

	"github.com/ringtap/ringtap/internal/object/elfimage"
	"github.com/ringtap/ringtap/internal/object/gotable"
)

// findGoTable returns the function table of a Go binary, or nil for other files. Tables from
// before Go 1.18 are not used: they don't say which functions end a stack or leave it.
func findGoTable(m *elfimage.Image) (*gotable.Table, error) {
	t, err := gotable.Open(m)
	if err != nil && !errors.Is(err, gotable.ErrNone) {
		return nil, err
	}
	if t == nil || t.Version != gotable.Go118 && t.Version != gotable.Go120 {
		return nil, nil
	}
	return t, nil
}

// golang adds a row for each step of a function's pcsp table, which says how far the stack
// pointer is below its value at entry.
//
// The runtime's own tracebacks end at sigtramp, the signal handler. Ours continue to the
// function that returns from the signal, and from there to the interrupted code.
func (b *builder) golang(t *gotable.Table, f *function) {
	fn := t.Func(uint64(f.index))
	flags, ok := fn.Flags()
	id, _ := fn.ID()
	name := string(t.Name(fn.Name(), maxGoName))
	switch {
	case !ok:
		b.add(f.start, b.unknown())
		return
	case name == sigreturnName: // as the leaf
		b.trampoline(&function{start: f.start})
		return
	case flags&gotable.TopFrame != 0 && name != "runtime.sigtramp", leavesGoroutine(name) && b.arch != AMD64:
		b.add(f.start, b.set(&row{regs: outermost(b.arch)}, describe(b.arch).ra, 0))
		return
	}
	switches := flags&gotable.SPWrite != 0 && id != gotable.CgoCallback
	var plain setFlags
	switch {
	case id == gotable.CgoCallback:
		plain = flagCallback
	case name == "runtime.systemstack_switch":
		plain = flagStandIn
	case name == "crosscall2":
		plain = flagCrossCall
	case leavesGoroutine(name):
		plain = flagFinal
	}
	if switches && name != morestackName && !hasFrame(t, &fn, f) {
		b.add(f.start, b.unknown()) // the frame pointer is still its caller's
		return
	}
	framed := uint64(0) // from this address on the function's record is surely complete
	v := t.Values(fn.SP(), f.start)
	for v.End < f.end && v.Next() {
		if v.Value < 0 || v.End == v.Start || v.End > f.end {
			b.add(v.Start, b.unknown())
			return
		}
		if switches && v.Value > 0 && framed == 0 {
			framed = v.Start + recordBytes
		}
		if !switches || v.Value == 0 || v.Start < framed {
			b.add(v.Start, b.goSet(b.arch, v.Value, plain))
		}
		if switches && v.Value > 0 && v.End > framed {
			b.add(max(v.Start, framed), b.switchSet(b.arch, v.Value, id, plain))
		}
	}
	if v.Malformed {
		b.add(v.End, b.unknown())
	}
}

// sigreturnName is the function that sigtramp returns to. With cgo, sigtramp returns to libc's.
const sigreturnName = "runtime.sigreturn__sigaction"

// maxGoName is the size in bytes at which golang cuts names; those it compares are shorter.
const maxGoName = 64

// hasFrame reports whether a function ever moves its stack pointer for a frame.
func hasFrame(t *gotable.Table, fn *gotable.Func, f *function) bool {
	for v := t.Values(fn.SP(), f.start); v.Next(); {
		if v.Value > 0 {
			return true
		}
	}
	return false
}

const morestackName = "runtime.morestack"

// leavesGoroutine reports whether a function moves to the system stack for good. The functions
// it calls there have no caller: the goroutine may meanwhile run on another thread.
func leavesGoroutine(name string) bool {
	return name == "runtime.mcall" || name == morestackName
}

// recordBytes is the size in bytes of the code that completes a Go function's frame record,
// from the first push on. No function of the runtime leaves its stack that early.
const recordBytes = 10

// unknown returns the set for Go code whose caller no table gives.
func (b *builder) unknown() uint16 { return b.intern(ruleSet{flags: flagUnknown}, &row{}, 0) }

// switchSet returns the set for a function that has moved to another stack, or is about to. The
// frame pointer still points at the function's record on the old stack.
func (b *builder) switchSet(a Arch, delta int32, id gotable.ID, flags setFlags) uint16 {
	m := describe(a)
	r := row{cfa: rule{kind: ruleValOffset, reg: m.fp}}
	flags |= flagSwitch | flagRecord
	if id == gotable.AsmCgoCall {
		flags |= flagCgo
	}
	switch a {
	case AMD64:
		r.cfa.val = 16
		r.set(uint64(m.ra), rule{kind: ruleOffset, val: -8})
		r.set(uint64(m.fp), rule{kind: ruleOffset, val: -16})
	case ARM64:
		// The record begins in the word below the frame.
		r.cfa.val = delta + 8
		r.set(uint64(m.ra), rule{kind: ruleOffset, val: -delta})
		r.set(uint64(m.fp), rule{kind: ruleOffset, val: -delta - 8})
		if flags&flagCgo != 0 {
			flags &^= flagRecord // it takes over the system stack's frame pointer
		}
	default: // it keeps no frame pointer
		return b.unknown()
	}
	return b.set(&r, m.ra, flags)
}

// outermost returns the rules of a function that has no caller.
func outermost(a Arch) (regs [maxRegs]rule) {
	regs[describe(a).ra] = rule{kind: ruleUndefined}
	return regs
}

// goSet returns the set for code where the stack pointer is delta bytes below its value at
// entry.
func (b *builder) goSet(a Arch, delta int32, flags setFlags) uint16 {
	m := describe(a)
	r := row{cfa: rule{kind: ruleValOffset, reg: m.sp, val: delta}}
	switch {
	case a == I386:
		// call pushed the return address; functions keep no frame pointer.
		r.cfa.val += 4
		r.set(uint64(m.ra), rule{kind: ruleOffset, val: -4})
	case a == AMD64:
		// call pushed the return address. A function with a frame pushes the caller's rbp
		// first, below the return address.
		r.cfa.val += 8
		r.set(uint64(m.ra), rule{kind: ruleOffset, val: -8})
		if delta >= 8 {
			r.set(uint64(m.fp), rule{kind: ruleOffset, val: -16})
			flags |= flagRecord
		}
	case delta > 0:
		// The link register is saved in the lowest word of the frame, x29 in the word below the
		// frame.
		r.set(uint64(m.ra), rule{kind: ruleOffset, val: -delta})
		r.set(uint64(m.fp), rule{kind: ruleOffset, val: -delta - 8})
		flags |= flagRecord
	}
	if flags&flagCrossCall != 0 {
		flags &^= flagRecord
	}
	return b.set(&r, m.ra, flags)
}
