package callchain

import "golang.org/x/arch/x86/x86asm"

// execute does to the registers what an instruction does, but for jumps. It reports
// false if the stack pointer is not known after it.
func (s *state) execute(inst *x86asm.Inst) bool {
	to, isReg := column(inst.Args[0])
	switch inst.Op {
	case x86asm.PUSH:
		from, ok := column(inst.Args[0])
		v := value{}
		if ok {
			v = s.regs[from]
		}
		s.push(v)
	case x86asm.POP:
		v := s.load(s.regs[amd64.sp])
		s.regs[amd64.sp].off += 8
		if isReg {
			s.regs[to] = v
		}
	case x86asm.LEAVE:
		s.regs[amd64.sp] = s.regs[amd64.fp]
		s.regs[amd64.fp] = s.load(s.regs[amd64.sp])
		s.regs[amd64.sp].off += 8
	case x86asm.PUSHF, x86asm.PUSHFQ:
		s.push(value{})
	case x86asm.POPF, x86asm.POPFQ:
		s.regs[amd64.sp].off += 8
	case x86asm.ADD, x86asm.SUB:
		n, isImm := inst.Args[1].(x86asm.Imm)
		switch {
		case !isReg:
		case !isImm || inst.DataSize != 64:
			s.regs[to] = value{}
		case inst.Op == x86asm.SUB:
			s.regs[to].off -= int64(n)
		default:
			s.regs[to].off += int64(n)
		}
		if isReg && s.regs[to].memory {
			s.regs[to] = value{} // what lies in memory, and a number
		}
	case x86asm.LEA:
		if isReg {
			s.regs[to] = s.address(inst.Args[1])
		}
	case x86asm.MOV:
		s.move(inst)
	case x86asm.CALL:
		for _, reg := range [...]uint8{0, 1, 2, 4, 5, 8, 9, 10, 11} { // what a callee need not save
			s.regs[reg] = value{}
		}
	case x86asm.CMP, x86asm.TEST, x86asm.NOP, x86asm.SYSCALL:
	default:
		for _, arg := range inst.Args {
			if reg, ok := column(arg); ok && (arg == inst.Args[0] || inst.Op == x86asm.XCHG || inst.Op == x86asm.XADD) {
				s.regs[reg] = value{}
			}
		}
	}
	sp := s.regs[amd64.sp]
	return sp.known && !sp.memory
}

// move does a MOV of eight bytes, and forgets what a smaller one changes.
func (s *state) move(inst *x86asm.Inst) {
	to, isReg := column(inst.Args[0])
	from, fromReg := column(inst.Args[1])
	wide := inst.DataSize == 64
	switch {
	case !isReg:
		if at := s.address(inst.Args[0]); at.known {
			v := value{}
			if fromReg && wide {
				v = s.regs[from]
			}
			s.store(at, v)
		}
	case fromReg && wide:
		s.regs[to] = s.regs[from]
	case wide:
		s.regs[to] = s.load(s.address(inst.Args[1]))
	default:
		s.regs[to] = value{}
	}
}

func (s *state) push(v value) {
	s.regs[amd64.sp].off -= 8
	s.store(s.regs[amd64.sp], v)
}

func (s *state) store(at, v value) {
	if s.stores == nil {
		s.stores = make(map[value]value)
	}
	s.stores[at] = v
}

// load is what lies at an address.
func (s *state) load(at value) value {
	if !at.known || at.memory {
		return value{}
	}
	if v, ok := s.stores[at]; ok {
		return v
	}
	at.memory = true
	return at
}

// address is the address of an operand in memory.
func (s *state) address(arg x86asm.Arg) value {
	m, ok := arg.(x86asm.Mem)
	if !ok || m.Index != 0 || m.Segment != 0 {
		return value{}
	}
	base, ok := column(m.Base)
	if !ok || !s.regs[base].known || s.regs[base].memory {
		return value{}
	}
	at := s.regs[base]
	at.off += m.Disp
	return at
}

// column is the DWARF column of a general register, whatever part of it an operand is.
func column(arg x86asm.Arg) (uint8, bool) {
	reg, ok := arg.(x86asm.Reg)
	if !ok {
		return 0, false
	}
	var n x86asm.Reg
	switch {
	case reg >= x86asm.RAX && reg <= x86asm.R15:
		n = reg - x86asm.RAX
	case reg >= x86asm.EAX && reg <= x86asm.R15L:
		n = reg - x86asm.EAX
	case reg >= x86asm.AX && reg <= x86asm.R15W:
		n = reg - x86asm.AX
	case reg >= x86asm.AL && reg <= x86asm.BH:
		n = (reg - x86asm.AL) % 4
	case reg >= x86asm.SPB && reg <= x86asm.R15B:
		n = reg - x86asm.SPB + 4
	default:
		return 0, false
	}
	// The machine's order is ax, cx, dx, bx, sp, bp, si, di, r8 to r15.
	return [16]uint8{0, 2, 1, 3, 7, 6, 4, 5, 8, 9, 10, 11, 12, 13, 14, 15}[n], true
}
