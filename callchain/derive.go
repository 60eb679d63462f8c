package callchain

import (
	"io"
	"maps"
	"math"

	"golang.org/x/arch/x86/x86asm"

	"github.com/ringtap/ringtap/internal/object/elfimage"
)

// Coded is an AddressSpace whose code can be read. For code without a rule, the Unwinder then
// derives one from the instructions up to the function's return.
type Coded interface {
	// ReadCode reads an object's code at an offset, which is a Frame's Offset. It returns the
	// number of bytes read.
	ReadCode(object ObjectID, offset uint64, b []byte) int
}

// derived is the rule for one code address, derived from the instructions that follow it. It
// says where the return address is when the function returns, and which registers are popped
// before.
type derived struct {
	known     bool
	outermost bool // the code ends the thread, and returns to nobody
	noReturn  bool // the code ends with a call that does not return
	base      uint8
	aligned   bool              // the CFA is the word at base + from, plus cfa; otherwise it is base + cfa
	from      int64             // used if aligned
	cfa       int64             // CFA - base
	saved     [maxSaved]savedAt // the first n are used
	n         int
}

// savedAt says where one of the caller's registers is saved.
type savedAt struct {
	reg   uint8
	value bool  // the register's value is base + at itself
	lost  bool  // the value is not saved anywhere
	at    int64 // offset from the base
}

// maxSaved is the largest number of registers that code saves for its caller: amd64's.
const maxSaved = 6

// maxDerived bounds the number of cached rules and places.
const maxDerived = 1 << 14

// derivation derives rules from the code of one address space at a time, and caches them.
type derivation struct {
	isa   *isa // nil: no rules are derived from this machine's code
	space AddressSpace
	code  Coded // space, nil if its code can't be read

	scanning bool // a scan is under way

	rules   map[Frame]derived
	calls   map[Frame]bool // whether the place is preceded by a call
	entries map[ObjectID]uint64
}

// use switches to the code of another address space.
func (d *derivation) use(space AddressSpace) {
	d.space = space
	d.code, _ = space.(Coded)
	if len(d.rules)+len(d.calls)+len(d.entries) > maxDerived || d.rules == nil {
		d.rules, d.calls, d.entries = make(map[Frame]derived), make(map[Frame]bool), make(map[ObjectID]uint64)
	}
}

// rule returns the rule for continuing at frame.Offset. It returns false if the code there
// can't be read.
func (d *derivation) rule(frame Frame) (derived, bool) {
	if r, ok := d.rules[frame]; ok {
		return r, true
	}
	var first [1]byte
	if d.code.ReadCode(frame.Object, frame.Offset, first[:]) == 0 {
		return derived{}, false // it may be readable later
	}
	f := follower{isa: d.isa, read: func(offset uint64, b []byte) int { return d.code.ReadCode(frame.Object, offset, b) }}
	r := f.derive(frame.Offset)
	d.rules[frame] = r
	return r, true
}

// isReturn reports whether the instruction before caller's return address may be a call. Code
// that can't be read gets the benefit of the doubt.
func (d *derivation) isReturn(caller Frame) bool {
	if is, ok := d.calls[caller]; ok {
		return is
	}
	const longest = 7 // call *disp32(base,index,scale)
	var b [longest]byte
	end := caller.Offset + 1
	if end < longest || d.code.ReadCode(caller.Object, end-longest, b[:]) < longest {
		return true
	}
	is := b[2] == 0xe8 // call rel32
	for n := 2; n <= longest; n++ {
		is = is || b[longest-n] == 0xff && b[longest-n+1]>>3&7 == 2 // call r/m64
	}
	d.calls[caller] = is
	return is
}

// stepWithoutRule leaves a frame of code that no table describes. It uses the code's own
// instructions if they can be read and lead to a return address that follows a call. Otherwise
// it uses the frame pointer.
func (u *Unwinder) stepWithoutRule(p *place, s *step) (End, bool) {
	if u.derivation.isa == nil || u.derivation.code == nil || s.leaf && s.entry {
		return u.stepFramePointer(s)
	}
	frame := p.frame
	if !s.exact {
		frame.Offset++
	}
	r, ok := u.derivation.rule(frame)
	if !ok {
		if ra, ok := u.vsyscallCaller(s); ok {
			return u.enter(ra)
		}
		return u.stepFramePointer(s)
	}
	if !s.exact && (r.outermost || u.derivation.isStart(frame)) {
		return Complete, true
	}
	if !r.known || !u.regs.has(r.base) {
		return u.stepGuessed(s)
	}
	base, word := u.regs.v[r.base], uint64(u.machine.word)
	cfa := base + uint64(r.cfa)
	if r.aligned {
		above, ok := u.mem.word(base + uint64(r.from))
		if !ok {
			return u.stepGuessed(s)
		}
		cfa = above + uint64(r.cfa)
	}
	ra, ok := u.mem.word(cfa - word)
	if !ok && r.base == u.machine.sp {
		return u.missing(cfa - word), true
	}
	if !ok || ra != u.trampoline && !u.isCaller(ra) || !s.rises(u.regs.v[u.machine.sp], cfa) {
		return u.stepGuessed(s)
	}
	u.regs.set(u.machine.sp, cfa)
	for _, at := range r.saved[:r.n] {
		switch {
		case at.lost:
			u.regs.known &^= 1 << at.reg
		case at.value:
			u.regs.set(at.reg, base+uint64(at.at))
		default:
			u.load(at.reg, base+uint64(at.at))
		}
	}
	*s = step{}
	return u.enter(ra)
}

// stepGuessed follows the frame pointer of code that was read but gave no rule. Such code may
// use the register for anything, so zero in it does not mean that there is no caller.
func (u *Unwinder) stepGuessed(s *step) (End, bool) {
	end, done := u.stepFramePointer(s)
	if done && end == Complete {
		end = Lost
	}
	if !done && !u.isCaller(u.regs.v[u.machine.pc]) {
		return Lost, true
	}
	return end, done
}

// scannedWords bounds the words that scan tries as a return address. scannedFrames bounds the
// frames that these tries walk.
const (
	scannedWords  = 256
	scannedFrames = 1024
)

// mayScan reports whether scan may search the stack for the caller of frame, which has no rule.
// Its code must have been read. If another scan is under way, its code must also end with a
// call that does not return.
func (d *derivation) mayScan(frame Frame) bool {
	r, read := d.rules[frame]
	return read && d.code != nil && (!d.scanning || r.noReturn)
}

// scan searches the stack for the caller of a frame that no rule leaves, such as code before a
// call that never returns. It takes the first word that follows a call and from which the walk
// reaches the outermost function. If there is none, the chain ends with end.
func (u *Unwinder) scan(dst []Frame, space AddressSpace, from *Regs, end End) ([]Frame, End) {
	known, pcs, walked, marked := len(dst), len(u.pcs), 0, u.marked
	base, data, other := u.mem.base, u.mem.data, u.other
	nested := u.derivation.scanning
	u.derivation.scanning = true
	defer func() { u.derivation.scanning = nested }()
	u.repeatable = false // more words were read than Reads should return
	word := uint64(u.machine.word)
	sp := (from.v[u.machine.sp] + word - 1) &^ (word - 1)
	for range scannedWords {
		u.mem.base, u.mem.data, u.other = base, data, other
		ra, ok := u.mem.word(sp)
		if !ok || walked > scannedFrames {
			break
		}
		sp += word
		if !u.isCaller(ra) {
			continue
		}
		u.regs = *from
		u.regs.set(u.machine.sp, sp)
		u.regs.set(u.machine.pc, ra)
		var found End
		if dst, found = u.walk(dst[:known], space, step{}); found == Complete {
			return dst, found
		}
		walked += len(dst) - known
		u.pcs, u.hidden, u.marked = u.pcs[:pcs], false, marked
	}
	u.regs, u.switching = *from, false
	u.mem.base, u.mem.data, u.other = base, data, other
	return dst[:known], end
}

// isCaller reports whether ra may follow a call instruction.
func (u *Unwinder) isCaller(ra uint64) bool {
	p := u.lookup(u.derivation.space, versionOf(u.derivation.space), ra-1)
	return p != nil && u.derivation.isReturn(p.frame)
}

// isStart reports whether caller is the program's first function, after its call. That function
// has no caller.
func (d *derivation) isStart(caller Frame) bool {
	start, ok := d.entries[caller.Object]
	if !ok {
		start = d.start(caller.Object)
		d.entries[caller.Object] = start
	}
	return start == caller.Offset
}

// start returns the offset after the first call in the code at the program's entry point, or 0
// if it is unknown.
func (d *derivation) start(object ObjectID) uint64 {
	image, err := elfimage.New(objectCode{d.code, object}, math.MaxInt64)
	if err != nil {
		return 0
	}
	at, ok := image.Offset(image.Entry)
	f := follower{isa: d.isa, read: func(offset uint64, b []byte) int { return d.code.ReadCode(object, offset, b) }, left: 32, seen: make(map[uint64]bool)}
	for s := (state{at: at}); ok; {
		var inst x86asm.Inst
		if inst, ok = f.next(&s); ok {
			s.at += uint64(inst.Len)
			if inst.Op == x86asm.CALL && !readsPC(&inst) {
				return s.at
			}
		}
	}
	return 0
}

type objectCode struct {
	code   Coded
	object ObjectID
}

func (o objectCode) ReadAt(b []byte, off int64) (int, error) {
	n := o.code.ReadCode(o.object, uint64(off), b)
	if n < len(b) {
		return n, io.EOF
	}
	return n, nil
}

// value is what is known of a register's content. It is reg + off, where reg is a register's
// content at the start of the derivation. If memory is set, it is the word that was at that
// address, plus another number.
type value struct {
	known  bool
	memory bool
	reg    uint8 // DWARF column
	off    int64
	plus   int64 // added to the word in memory
}

// add adds n to a known value.
func (v *value) add(n int64) {
	if v.memory {
		v.plus += n
	} else {
		v.off += n
	}
}

// state holds the registers at one instruction of a path, and the stores of the path to the
// stack.
type state struct {
	isa    *isa
	at     uint64 // offset of the instruction in the object
	regs   [16]value
	stores map[value]value // by address (a value without memory)
	before x86asm.Op       // op of the instruction before
	branch bool            // the path has come to a conditional jump
}

// begin returns the state before the first instruction, at offset: each register holds its own
// value.
func begin(isa *isa, offset uint64) state {
	s := state{isa: isa, at: offset}
	for i := range s.regs {
		s.regs[i] = value{known: true, reg: uint8(i)}
	}
	return s
}

// follower walks the paths from a place to its function's return. The stack pointer is the same
// at the end of all paths, so the first path that returns decides.
type follower struct {
	isa  *isa
	read func(offset uint64, b []byte) int
	page []byte
	from uint64 // offset of page
	left int    // how many more instructions may be decoded
	seen map[uint64]bool
}

// maxFollowed bounds the instructions decoded for one derivation.
const maxFollowed = 1 << 12

func (f *follower) derive(offset uint64) derived {
	f.left, f.seen = maxFollowed, make(map[uint64]bool)
	first := begin(f.isa, offset)
	noReturn := false
	for paths := []state{first}; len(paths) > 0; {
		s := &paths[len(paths)-1]
		inst, ok := f.next(s)
		if !ok {
			paths = paths[:len(paths)-1]
			continue
		}
		s.at += uint64(inst.Len)
		before := s.before
		if f.isa.isSyscall(&inst) {
			inst.Op = x86asm.SYSCALL
		}
		if doesNothing(&inst) && before == x86asm.CALL {
			if s.at%16 == 0 { // padding
				noReturn = true
				paths = paths[:len(paths)-1]
			}
			continue
		}
		s.before = inst.Op
		switch inst.Op {
		case x86asm.RET:
			if r := s.rule(); r.known {
				return r
			}
			paths = paths[:len(paths)-1]
		case x86asm.HLT, x86asm.UD2, x86asm.UD1, x86asm.INT:
			if before == x86asm.SYSCALL && !s.branch {
				return derived{outermost: true}
			}
			paths = paths[:len(paths)-1]
		case x86asm.JMP:
			to, direct := inst.Args[0].(x86asm.Rel)
			switch m, isMem := inst.Args[0].(x86asm.Mem); {
			case direct:
				s.at += uint64(int64(to))
			case isMem && f.isa.isSlot(&m):
				// A tail call through a table of addresses: the other function returns for this
				// one.
				return s.rule()
			}
			// After a switch's jump come its cases. After a jump to another function comes code
			// that gives no return address.
		default:
			if to, ok := inst.Args[0].(x86asm.Rel); ok && inst.Op != x86asm.CALL {
				s.branch = true
				other := *s
				other.at += uint64(int64(to))
				other.stores = maps.Clone(s.stores)
				// Follow the path without the jump first.
				paths = append(paths[:len(paths)-1], other, *s)
			} else if !s.execute(&inst) {
				paths = paths[:len(paths)-1]
			}
		}
	}
	return derived{noReturn: noReturn}
}

// next decodes the next instruction of a path. It returns false if the path ends or meets code
// that was decoded before.
func (f *follower) next(s *state) (inst x86asm.Inst, ok bool) {
	if f.seen[s.at] || f.left == 0 {
		return inst, false
	}
	f.seen[s.at] = true
	f.left--
	const longest = 15
	if s.at < f.from || s.at+longest > f.from+uint64(len(f.page)) {
		if f.page == nil {
			f.page = make([]byte, 1024)
		}
		f.from, f.page = s.at, f.page[:cap(f.page)]
		f.page = f.page[:max(0, f.read(s.at, f.page))]
	}
	if s.at-f.from >= uint64(len(f.page)) {
		return inst, false
	}
	inst, err := x86asm.Decode(f.page[s.at-f.from:], f.isa.mode)
	return inst, err == nil
}

// rule returns the rule that follows from a path that has reached a return.
func (s *state) rule() derived {
	m := s.isa.machine
	sp := s.regs[m.sp]
	if !sp.known || sp.reg != m.sp && sp.reg != m.fp {
		return derived{}
	}
	r := derived{known: true, base: sp.reg, cfa: sp.off + int64(m.word)}
	if sp.memory { // the function has aligned its frame
		r.aligned, r.from, r.cfa = true, sp.off, sp.plus+int64(m.word)
	}
	for _, reg := range s.isa.saved {
		v := s.regs[reg]
		switch {
		case v.known && !v.memory && v.reg == reg && v.off == 0:
			continue // unchanged
		case v.known && v.reg == sp.reg && v.plus == 0:
			r.saved[r.n] = savedAt{reg: reg, value: !v.memory, at: v.off}
		default:
			r.saved[r.n] = savedAt{reg: reg, lost: true}
		}
		r.n++
	}
	return r
}
