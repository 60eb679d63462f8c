package callchain

import "golang.org/x/arch/x86/x86asm"

// execute applies an instruction, other than a jump, to the registers. It reports false if the
// stack pointer is unknown afterwards.
func (s *state) execute(inst *x86asm.Inst) bool {
	to, isReg := s.isa.column(inst.Args[0])
	switch inst.Op {
	case x86asm.PUSH:
		from, ok := s.isa.column(inst.Args[0])
		v := value{}
		if ok {
			v = s.regs[from]
		}
		s.push(v)
	case x86asm.POP:
		v := s.load(s.regs[s.isa.machine.sp])
		s.regs[s.isa.machine.sp].add(s.isa.word())
		if isReg {
			s.regs[to] = v
		}
	case x86asm.LEAVE:
		s.regs[s.isa.machine.sp] = s.regs[s.isa.machine.fp]
		s.regs[s.isa.machine.fp] = s.load(s.regs[s.isa.machine.sp])
		s.regs[s.isa.machine.sp].add(s.isa.word())
	case x86asm.PUSHF, x86asm.PUSHFQ:
		s.push(value{})
	case x86asm.POPF, x86asm.POPFQ:
		s.regs[s.isa.machine.sp].add(s.isa.word())
	case x86asm.ADD, x86asm.SUB:
		n, isImm := inst.Args[1].(x86asm.Imm)
		switch {
		case !isReg:
		case !isImm || inst.DataSize != s.isa.mode:
			s.regs[to] = value{}
		case inst.Op == x86asm.SUB:
			s.regs[to].add(-int64(n))
		default:
			s.regs[to].add(int64(n))
		}
	case x86asm.LEA:
		if isReg {
			s.regs[to] = s.address(inst.Args[1])
		}
	case x86asm.MOV:
		s.move(inst)
	case x86asm.CALL:
		if readsPC(inst) {
			s.push(value{})
			break
		}
		for _, reg := range s.isa.scratch {
			s.regs[reg] = value{}
		}
	case x86asm.CMP, x86asm.TEST, x86asm.NOP, x86asm.SYSCALL:
	default:
		for _, arg := range inst.Args {
			if reg, ok := s.isa.column(arg); ok && (arg == inst.Args[0] || inst.Op == x86asm.XCHG || inst.Op == x86asm.XADD) {
				s.regs[reg] = value{}
			}
		}
	}
	return s.regs[s.isa.machine.sp].known
}

// move applies a MOV. If it moves less than a word, the target becomes unknown.
func (s *state) move(inst *x86asm.Inst) {
	to, isReg := s.isa.column(inst.Args[0])
	from, fromReg := s.isa.column(inst.Args[1])
	wide := inst.DataSize == s.isa.mode
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
	s.regs[s.isa.machine.sp].add(-s.isa.word())
	s.store(s.regs[s.isa.machine.sp], v)
}

func (s *state) store(addr, v value) {
	if s.stores == nil {
		s.stores = make(map[value]value)
	}
	s.stores[addr] = v
}

// load returns the value in memory at addr.
func (s *state) load(addr value) value {
	if !addr.known || addr.memory {
		return value{}
	}
	if v, ok := s.stores[addr]; ok {
		return v
	}
	addr.memory = true
	return addr
}

// address returns the address of a memory operand.
func (s *state) address(arg x86asm.Arg) value {
	m, ok := arg.(x86asm.Mem)
	if !ok || m.Index != 0 || m.Segment != 0 {
		return value{}
	}
	base, ok := s.isa.column(m.Base)
	if !ok || !s.regs[base].known {
		return value{}
	}
	at := s.regs[base]
	at.add(m.Disp)
	return at
}
