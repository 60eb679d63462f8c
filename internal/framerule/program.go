package framerule

// Call frame instructions (DWARF 5 section 7.24, and GNU's).
const (
	advanceLoc       = 0x40 // with the distance
	offset           = 0x80 // with the register
	restore          = 0xc0 // with the register
	nop              = 0x00
	setLoc           = 0x01
	advanceLoc1      = 0x02
	advanceLoc2      = 0x03
	advanceLoc4      = 0x04
	offsetExtended   = 0x05
	restoreExtended  = 0x06
	undefined        = 0x07
	sameValue        = 0x08
	register         = 0x09
	rememberState    = 0x0a
	restoreState     = 0x0b
	defCFA           = 0x0c
	defCFARegister   = 0x0d
	defCFAOffset     = 0x0e
	defCFAExpression = 0x0f
	expression       = 0x10
	offsetExtendedSF = 0x11
	defCFASF         = 0x12
	defCFAOffsetSF   = 0x13
	valOffset        = 0x14
	valOffsetSF      = 0x15
	valExpression    = 0x16
	negateRAState    = 0x2d // of arm64
	gnuArgsSize      = 0x2e
)

// machine executes the instructions of a frame up to an address.
type machine struct {
	cie
	pc, until uint64
	rule      Rule
	complex   bool // the address is an expression's
	initial   Rule
	saved     []machineState
}

type machineState struct {
	rule    Rule
	complex bool
}

// maxSaved is how many states may be remembered.
const maxSaved = 64

// run executes instructions; false where one is not known.
func (m *machine) run(e *cursor) bool {
	for e.at < len(e.b) && !e.failed {
		op := e.u8()
		step, moved := uint64(0), true
		switch {
		case op&0xc0 == advanceLoc:
			step = uint64(op & 0x3f)
		case op == advanceLoc1:
			step = uint64(e.u8())
		case op == advanceLoc2:
			step = uint64(e.u16())
		case op == advanceLoc4:
			step = uint64(e.u32())
		default:
			moved = false
		}
		if !moved {
			if !m.step(op, e) {
				return false
			}
			continue
		}
		m.pc += step * m.codeAlign
		if m.pc > m.until {
			return true
		}
	}
	return !e.failed
}

// step executes an instruction that does not advance.
func (m *machine) step(op byte, e *cursor) bool {
	switch {
	case op&0xc0 == offset:
		e.uleb()
		return true
	case op&0xc0 == restore:
		return true
	}
	switch op {
	case nop, negateRAState:
	case setLoc:
		m.pc = e.pointer(m.encoding)
	case restoreExtended, undefined, sameValue, gnuArgsSize:
		e.uleb()
	case offsetExtended, register, valOffset:
		e.uleb()
		e.uleb()
	case offsetExtendedSF, valOffsetSF:
		e.uleb()
		e.sleb()
	case expression, valExpression:
		e.uleb()
		e.bytes(int(min(e.uleb(), uint64(len(e.b)))))
	case rememberState:
		if len(m.saved) == maxSaved {
			return false
		}
		m.saved = append(m.saved, machineState{m.rule, m.complex})
	case restoreState:
		if len(m.saved) == 0 {
			return false
		}
		last := m.saved[len(m.saved)-1]
		m.rule, m.complex, m.saved = last.rule, last.complex, m.saved[:len(m.saved)-1]
	case defCFA:
		m.rule, m.complex = Rule{e.uleb(), int64(e.uleb())}, false
	case defCFASF:
		m.rule, m.complex = Rule{e.uleb(), e.sleb() * m.dataAlign}, false
	case defCFARegister:
		m.rule.Register = e.uleb()
	case defCFAOffset:
		m.rule.Offset = int64(e.uleb())
	case defCFAOffsetSF:
		m.rule.Offset = e.sleb() * m.dataAlign
	case defCFAExpression:
		e.bytes(int(min(e.uleb(), uint64(len(e.b)))))
		m.complex = true
	default:
		return false
	}
	return true
}
