package placement

// flow says where execution continues after an instruction.
type flow uint8

const (
	flowNext     flow = iota // at the next instruction, perhaps after a call
	flowBranch               // at target or the next instruction
	flowJump                 // at target
	flowIndirect             // at the address in a register or in memory
	flowReturn
)

// instruction has the machine-independent properties of one instruction.
type instruction struct {
	length int
	flow   flow
	// target of a direct branch or call, in bytes from the function's start.
	target int
	// direct says that target is set.
	direct bool
	// notrack marks an indirect jump within the function, through the jump table of a switch.
	notrack bool
	// stepped says that some kernel in use single-steps it.
	stepped bool
	// refused says why the kernel rejects a probe here, or would execute it wrongly; else "".
	refused string
}
