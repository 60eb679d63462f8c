package callchain

import "golang.org/x/arch/x86/x86asm"

// maxPrologue bounds the instructions that prologue decodes.
const maxPrologue = 64

// likelyRecord returns the probable address of the frame record of a function that calls
// another. The code at the function's start shows how far above the stack pointer the record is
// at the first call or jump. If the function moves the stack pointer later, the record is
// further up.
func (u *Unwinder) likelyRecord(p *place, sp uint64) (record uint64, ok bool) {
	d := &u.derivation
	if d.isa == nil || d.code == nil || p.table == nil {
		return 0, false
	}
	start, ok := p.table.start(p.frame.Offset)
	if !ok {
		return 0, false
	}
	f := follower{isa: d.isa, left: maxPrologue, seen: make(map[uint64]bool),
		read: func(offset uint64, b []byte) int { return d.code.ReadCode(p.frame.Object, offset, b) }}
	above, ok := f.prologue(start, p.frame.Offset)
	return sp + uint64(above), ok
}

// prologue returns how many bytes the frame pointer is above the stack pointer at the first
// call or jump of a function, or at the offset until if that comes first.
func (f *follower) prologue(start, until uint64) (above int64, ok bool) {
	s := begin(f.isa, start)
	for s.at <= until {
		inst, ok := f.next(&s)
		if !ok || inst.Op == x86asm.RET || inst.Op == x86asm.CALL {
			break
		}
		if _, isJump := inst.Args[0].(x86asm.Rel); isJump || inst.Op == x86asm.JMP {
			break
		}
		s.at += uint64(inst.Len)
		if !s.execute(&inst) {
			return 0, false
		}
	}
	sp, fp := s.regs[f.isa.machine.sp], s.regs[f.isa.machine.fp]
	isOfFrame := fp.known && !fp.memory && !sp.memory && fp.reg == f.isa.machine.sp && sp.reg == fp.reg
	return fp.off - sp.off, isOfFrame && fp.off >= sp.off
}
