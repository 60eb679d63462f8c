package placement

// Exits lists how control leaves a function, apart from calls and exceptions.
type Exits struct {
	// Returns are the offsets of its return instructions, as Function.Returns returns them.
	Returns []int
	// Outside are the targets of its jumps and branches to other code, in bytes from its start:
	// parts of the function that are elsewhere, or other functions, which return in its place.
	Outside []int
	// Indirect says that it jumps to an address in a register or in memory, which may be
	// outside. It does not count jumps of a switch that the compiler has marked (notrack, gcc
	// -fcf-protection).
	Indirect bool
}

// Exits returns the exits of the function. The error is a *NotCodeError if the code cannot be
// decoded to its end.
func (f *Function) Exits() (Exits, error) {
	var e Exits
	constants := f.constants()
	err := f.each(func(offset int, in instruction) bool {
		switch {
		case constants != nil && constants[offset/4]:
		case in.flow == flowReturn:
			e.Returns = append(e.Returns, offset)
		case in.flow == flowIndirect && !in.notrack:
			e.Indirect = true
		case in.flow == flowJump || in.flow == flowBranch:
			if in.target < 0 || in.target >= len(f.Code) {
				e.Outside = append(e.Outside, in.target)
			}
		}
		return true
	})
	return e, err
}
