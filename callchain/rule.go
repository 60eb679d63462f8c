package callchain

// ruleKind says how a register of the caller is found (DWARF 5, 6.4.1).
type ruleKind uint8

const (
	ruleSame      ruleKind = iota // unchanged; what a register without a rule gets
	ruleUndefined                 // not recoverable
	ruleOffset                    // saved at CFA + val
	ruleValOffset                 // is CFA + val; the CFA itself is register reg + val
	ruleRegister                  // is in register val
	ruleExpr                      // saved at the address that an expression gives
	ruleValExpr                   // is the value that an expression gives
)

// rule is the rule of register reg, or the CFA's. For expressions val and size
// are their place in the set's expression bytes.
type rule struct {
	kind ruleKind
	reg  uint8
	size uint16
	val  int32
}

// ruleSet is what a row points at: how to get from a frame to its caller.
type ruleSet struct {
	cfa   rule // ruleValOffset or ruleValExpr
	ra    rule
	rules []rule // of all registers but CFA and return address
	exprs []byte
	flags setFlags
}

// expr gives the bytes of the expression of a rule.
func (s *ruleSet) expr(r rule) []byte {
	return s.exprs[r.val : int(r.val)+int(r.size)]
}

type setFlags uint16

const (
	// flagSignal: the frame was pushed by a signal, and the caller's pc is the
	// interrupted instruction, not a return address (augmentation 'S').
	flagSignal setFlags = 1 << iota
	// flagRecord: the frame pointer points at a frame record of this frame, so
	// that a walk of the records comes to its caller.
	flagRecord
	// flagOwnSP: the stack pointer has a rule of its own; where it has none, the
	// caller's is the CFA.
	flagOwnSP
	// flagOldRegs: a rule reads registers, so that the old ones must be kept
	// until the last is computed.
	flagOldRegs
	// flagSwitch: the function runs on another stack than its caller does. The frame
	// pointer still points at the function's record, on the caller's stack.
	flagSwitch
	// flagCgo: runtime.asmcgocall, which keeps the goroutine and the depth of its stack
	// on the stack that it has switched to.
	flagCgo
	// flagCallback: runtime.cgocallback, whose frame is on two stacks: see callback.
	flagCallback
	// flagCrossCall: crosscall2, by which C calls Go. Go 1.26's has two frame records. The
	// inner one has the outer one's frame pointer in place of a return address.
	flagCrossCall
	// flagStandIn: runtime.systemstack_switch, which never runs: see callback.
	flagStandIn
	// flagFinal: what the function calls has no caller, as it leaves the goroutine for good.
	// Before that the function itself has one.
	flagFinal
	// flagBegins: callees return to the function's first byte, though it has not called
	// them, so that the byte before is another function's.
	flagBegins
	// flagUnknown: Go's table has the function, but nothing says where its caller is.
	flagUnknown
)

// row is the state of a call frame program: the rules of all columns.
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
