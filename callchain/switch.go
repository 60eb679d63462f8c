package callchain

// Marks is the object of frames that are not code but say something about the chain. Their
// Offset says what: MarkSwitch.
const Marks = ^ObjectID(0) - 2

// MarkSwitch is the Offset of the frame inserted where a chain continues on another stack that
// could not be read. Callers may be missing there.
const MarkSwitch = 0

var switchMark = Frame{Object: Marks, Offset: MarkSwitch}

// maxSwitches bounds how often one chain may switch stacks: a program's stacks can lead to each
// other in a circle.
const maxSwitches = 32

// cross prepares the registers for leaving a function that runs on a different stack than its
// caller. It makes the caller's stack readable if possible.
func (u *Unwinder) cross(set *ruleSet) {
	m := u.machine
	if set.flags&flagCgo != 0 {
		u.called.isSet = false
	}
	if set.flags&flagCgo != 0 && u.other != nil {
		if sp, ok := u.goroutineSP(); ok {
			u.regs.set(m.fp, recordOf(u.arch, sp))
		}
	} else if set.flags&flagCgo != 0 && u.arch == ARM64 {
		// The register holds the system stack's frame pointer.
		u.regs.known &^= 1 << m.fp
	}
	if u.regs.has(m.fp) {
		u.reach(u.regs.v[m.fp])
	}
}

// hasLeft reports whether runtime.mcall or runtime.morestack is already on the system stack.
// Then the frame pointer is cleared, or still on the goroutine's stack.
func (u *Unwinder) hasLeft(s *step) bool {
	fp, sp := u.regs.v[u.machine.fp], u.regs.v[u.machine.sp]
	const largest = 1 << 20 // size of a frame in bytes
	return !s.exact || fp == 0 || !u.regs.has(u.machine.fp) || fp-sp > largest
}

// recordOf returns the frame pointer of a Go assembly function without variables whose stack
// pointer is sp.
func recordOf(a Arch, sp uint64) uint64 {
	if a == ARM64 {
		return sp - 8
	}
	return sp
}

// goroutineSP returns the goroutine's stack pointer while runtime.asmcgocall runs. asmcgocall
// keeps two words on the system stack: the goroutine (runtime.g), and the distance from its
// stack pointer to the end of its stack. That end is the second word of a runtime.g.
func (u *Unwinder) goroutineSP() (uint64, bool) {
	sp := u.regs.v[u.machine.sp]
	atG, atDepth := sp+8, sp
	if u.arch == ARM64 {
		atG, atDepth = sp, sp+8
	}
	g, ok := u.mem.word(atG)
	depth, ok2 := u.mem.word(atDepth)
	if !ok || !ok2 || g == 0 || !u.reach(g) {
		return 0, false
	}
	high, ok := u.mem.word(g + 8)
	return high - depth, ok && depth < high
}

// reach makes the memory at addr readable, with another stack copy if needed. It reports
// whether addr can be read.
func (u *Unwinder) reach(addr uint64) bool {
	if _, ok := u.mem.word(addr); ok {
		return true
	}
	if u.other == nil || u.switches == maxSwitches {
		return false
	}
	u.switches++
	if !u.move(addr) {
		return false
	}
	u.more += len(u.mem.data)/int(u.machine.word) + 2
	_, ok := u.mem.word(addr)
	return ok
}

// move switches to another stack copy, which starts at addr. It returns false and keeps the
// current copy if there is no other.
func (u *Unwinder) move(addr uint64) bool {
	data := u.other(addr)
	if len(data) == 0 {
		return false
	}
	u.mem.base, u.mem.data, u.mem.beyond = addr, data, Beyond{}
	u.repeatable, u.alone = false, false // Reads and Reach describe one copy only
	return true
}

// onBothStacks reports whether this frame of runtime.cgocallback is the one on the goroutine's
// stack. Its record and its callers in C are then on the system stack.
func (u *Unwinder) onBothStacks() bool {
	fp, sp := u.regs.v[u.machine.fp], u.regs.v[u.machine.sp]
	const largest = 256 // size of its frame in bytes
	return !u.regs.has(u.machine.fp) || fp-sp+8 > largest
}

// systemFrame prepares the registers for runtime.cgocallback's frame on the system stack. It
// reports false if that stack can't be read.
func (u *Unwinder) systemFrame(p *place) bool {
	m := u.machine
	fp := u.regs.v[m.fp]
	if !u.regs.has(m.fp) || u.other == nil || !u.reach(fp) {
		return false
	}
	sp := fp + 8
	if u.arch == AMD64 {
		sp = fp + 16 - uint64(p.set.cfa.val)
	}
	u.called = called{true, u.regs, *p}
	u.regs.set(m.sp, sp)
	u.regs.known &= 1<<m.pc | 1<<m.sp | 1<<m.fp // the other registers are Go's, which preserves none for its callers
	return true
}

// callback follows a Go function that C called. runtime.cgocallback has moved to the
// goroutine's stack. Its frame there leads to the Go function that called C, which the
// registers now describe. The C functions lie between the two: see between. record is
// cgocallback's frame pointer, or 0 if unknown.
//
// It reports true if the chain ends here.
func (u *Unwinder) callback(dst []Frame, space AddressSpace, record uint64, s *step) ([]Frame, End, bool) {
	dst, whole, outermost := u.between(dst, space, versionOf(space), record)
	if outermost {
		return dst, Complete, true
	}
	if !whole {
		dst, u.marked = append(dst, switchMark), true
	}
	return u.standIn(dst, space, s)
}

// standIn continues from the Go function that called C to its caller.
func (u *Unwinder) standIn(dst []Frame, space AddressSpace, s *step) ([]Frame, End, bool) {
	saved := u.lookup(space, versionOf(space), u.regs.v[u.machine.pc]-1)
	if saved == nil || saved.outermost() {
		return dst, Lost, true // C called Go first, on a thread of its own
	}
	if saved.set == nil || saved.set.flags&flagStandIn == 0 {
		return dst, Lost, false
	}
	// The goroutine never ran this function: the runtime saves it in place of asmcgocall.
	here := *saved
	end, done := u.step(&here, s)
	return dst, end, done
}

// called is runtime.cgocallback's frame on the goroutine's stack. It is kept while the chain
// leads through the C functions that called cgocallback.
type called struct {
	isSet bool
	regs  Regs
	place place
}

// leaveOut is called when the chain ends in C code between two Go functions. It adds a mark for
// the missing C callers and continues from the Go function that called C.
func (u *Unwinder) leaveOut(dst []Frame, space AddressSpace, s *step) (_ []Frame, ok bool) {
	from := &u.called
	if !from.isSet || u.hidden {
		return dst, false
	}
	from.isSet = false
	if u.regs = from.regs; !u.reach(u.regs.v[u.machine.sp]) {
		return dst, false
	}
	if _, done := u.step(&from.place, s); done {
		return dst, false
	}
	known := len(dst)
	dst, u.marked = append(dst, switchMark), true
	dst, _, done := u.standIn(dst, space, s)
	if done {
		return dst[:known+1], false
	}
	return dst, true
}

// between appends the C functions between two Go functions. It takes them from the kernel's
// chain, above cgocallback's record on the system stack, as far as they keep frame records.
// whole is true if they lead back to the Go function that called C or to the thread's outermost
// function; outermost is true for the latter.
func (u *Unwinder) between(dst []Frame, space AddressSpace, version, record uint64) (frames []Frame, whole, outermost bool) {
	u.repeatable = false
	i, ok := u.record(u.capture, record)
	if !ok {
		i, ok = u.nextCallback(space, version)
	}
	if !ok || record == 0 {
		return dst, false, false
	}
	u.followed = 0
	crossed := false
	for k, addr := range u.capture.Chain[i:] {
		if u.arch == ARM64 {
			addr = stripPAC(addr)
		}
		p := u.lookup(space, version, addr-1)
		if p == nil && crossed {
			crossed = false // see flagCrossCall
			continue
		}
		if p == nil {
			break
		}
		dst = append(dst, p.caller())
		crossed = p.set != nil && p.set.flags&flagCrossCall != 0
		switch {
		case p.outermost():
			return dst, true, true
		case p.set != nil && p.set.flags&flagCgo != 0:
			u.followed = i + k + 1
			return dst, true, false
		case !p.keepsRecord() && !crossed:
			return dst, false, false
		}
	}
	return dst, false, false
}

// nextCallback returns the index in the kernel's chain of the C function that called Go, for an
// outer callback. between has already found the C functions of an inner one. The kernel's
// records lead through all stacks, but those between two callbacks lie on a stack without a
// copy.
func (u *Unwinder) nextCallback(space AddressSpace, version uint64) (int, bool) {
	if u.followed == 0 {
		return 0, false
	}
	for i := u.followed; i+1 < len(u.capture.Chain); i++ {
		addr := u.capture.Chain[i]
		if u.arch == ARM64 {
			addr = stripPAC(addr)
		}
		p := u.lookup(space, version, addr-1)
		switch {
		case p == nil:
			return 0, false
		case p.set != nil && p.set.flags&flagCallback != 0:
			return i + 1, true
		}
	}
	return 0, false
}

// begin resets the stack switches of the last chain.
func (u *Unwinder) begin() {
	u.followed = 0
	u.switches, u.more, u.switching, u.marked, u.called.isSet = 0, 0, false, false, false
}

// finish adds the mark to a chain that ended at a stack switch.
func (u *Unwinder) finish(dst []Frame, end End) ([]Frame, End) {
	if end == Complete && u.marked {
		end = Lost
	}
	if end == Lost && u.switching && !u.marked {
		dst, u.marked = append(dst, switchMark), true
	}
	return dst, end
}
