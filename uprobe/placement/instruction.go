package placement

// flow is what an instruction does to the way through the code.
type flow uint8

const (
	flowNext     flow = iota // goes on to the next instruction, or calls and comes back
	flowBranch               // may go to target
	flowJump                 // goes to target
	flowIndirect             // goes where a register or a word in memory says
	flowReturn
)

// instruction is what placement needs to know of one instruction, whatever the
// machine.
type instruction struct {
	length int
	flow   flow
	// target of a direct branch or call, in bytes from the function's start.
	target int
	// direct says that there is a target.
	direct bool
	// notrack marks an indirect jump within the function, by the jump table of a
	// switch.
	notrack bool
	// stepped says that a kernel that is in use single-steps it.
	stepped bool
	// refused says why the kernel takes no probe here, or must not be asked to.
	refused string
}
