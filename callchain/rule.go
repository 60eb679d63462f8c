package callchain

// ruleKind says how to find a register of the caller (DWARF 5, 6.4.1).
type ruleKind uint8

const (
	ruleSame      ruleKind = iota // unchanged; the default
	ruleUndefined                 // not recoverable
	ruleOffset                    // saved at CFA + val
	ruleValOffset                 // is CFA + val; the CFA itself is register reg + val
	ruleRegister                  // is in register val
	ruleExpr                      // saved at the address that an expression gives
	ruleValExpr                   // is the value that an expression gives
)

// rule is the rule of register reg, or of the CFA. For an expression, val and size are its
// position and length in the set's exprs.
type rule struct {
	kind ruleKind
	reg  uint8
	size uint16
	val  int32
}

// ruleSet says how to get from a frame to its caller. Rows refer to it.
type ruleSet struct {
	cfa   rule // ruleValOffset or ruleValExpr
	ra    rule
	rules []rule // all registers except the CFA and the return address
	exprs []byte
	flags setFlags
}

// expr returns the bytes of a rule's expression.
func (s *ruleSet) expr(r rule) []byte {
	return s.exprs[r.val : int(r.val)+int(r.size)]
}

type setFlags uint16

const (
	// flagSignal: a signal pushed the frame, and the caller's pc is the interrupted
	// instruction, not a return address (augmentation 'S').
	flagSignal setFlags = 1 << iota
	// flagRecord: the frame pointer points at this frame's record, so a walk of the records
	// reaches the caller.
	flagRecord
	// flagOwnSP: the stack pointer has its own rule. Otherwise the caller's stack pointer is
	// the CFA.
	flagOwnSP
	// flagOldRegs: some rule reads registers, so the old registers must be kept until all new
	// ones are computed.
	flagOldRegs
	// flagSwitch: the function runs on a different stack than its caller. The frame pointer
	// still points at the function's record, on the caller's stack.
	flagSwitch
	// flagCgo: runtime.asmcgocall. It keeps the goroutine, and the depth of the goroutine's
	// stack, on the stack it switched to.
	flagCgo
	// flagCallback: runtime.cgocallback, whose frame is on two stacks: see callback.
	flagCallback
	// flagCrossCall: crosscall2, through which C calls Go. In Go 1.26 it has two frame records.
	// The inner one holds the outer one's frame pointer instead of a return address.
	flagCrossCall
	// flagStandIn: runtime.systemstack_switch, which never runs: see callback.
	flagStandIn
	// flagFinal: a function called from here has no caller, because this function leaves the
	// goroutine for good. Until it calls one, it has a caller itself.
	flagFinal
	// flagBegins: functions return to the first byte of this function although it has not
	// called them. The byte before is another function's.
	flagBegins
	// flagUnknown: Go's table has the function, but does not say where its caller is.
	flagUnknown
)

// row is the state of a call frame program: the rules of all DWARF columns.
type row struct {
	cfa     rule
	regs    [maxRegs]rule
	touched uint64 // columns whose rule is not ruleSame
}

func (r *row) set(column uint64, ru rule) {
	if column >= maxRegs {
		return // vector and floating point registers: nothing is based on them
	}
	ru.reg = uint8(column)
	r.regs[column] = ru
	if ru.kind == ruleSame {
		r.touched &^= 1 << column
	} else {
		r.touched |= 1 << column
	}
}
