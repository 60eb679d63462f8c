package placement

// Exits is how the code of a function is left, but by calls and by exceptions.
type Exits struct {
	// Returns are the offsets of its return instructions, as Function.Returns has
	// them.
	Returns []int
	// Outside are the places that it jumps to or branches to that are not in it, in
	// bytes from its start: parts of it that lie elsewhere, or other functions,
	// which return in its place.
	Outside []int
	// Indirect says that it jumps where a register or a word in memory says, which
	// may be outside. The jumps of a switch are not meant where the compiler has
	// marked them (notrack, gcc -fcf-protection).
	Indirect bool
}

// Exits finds how the function is left. The error is a *NotCodeError if the code
// can't be read to its end.
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
