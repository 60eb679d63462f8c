package placement

import "fmt"

// NoReturnError is returned if a function has no return instruction.
type NoReturnError struct {
	// Jumps are the offsets of the jumps that leave the function instead, in bytes from its
	// start. If there are none, the function never ends.
	Jumps []int
}

func (e *NoReturnError) Error() string {
	if len(e.Jumps) == 0 {
		return "the function never returns"
	}
	return fmt.Sprintf("the function has no return: it ends in a jump at +%#x to another function, which returns in its place", e.Jumps[0])
}

// Returns returns the offsets of all return instructions, sorted, in bytes from the function's
// start. On amd64 these are ret with and without an operand, near and far, with any prefix (rep
// ret, bnd ret); on arm64 they are ret, retaa and retab.
//
// A function may also end in a jump to another one, which then returns to the caller in its
// place (a tail call). Such ends are not included. The Go compiler creates them only in
// wrappers of promoted methods; assembly may contain them. If a function has no return at all,
// the error is a *NoReturnError. If it cannot be decoded to its end, the error is a
// *NotCodeError: an incomplete list would miss calls.
func (f *Function) Returns() ([]int, error) {
	var returns, jumps []int
	constants := f.constants()
	err := f.each(func(offset int, in instruction) bool {
		switch {
		case in.flow == flowReturn:
			if constants == nil || !constants[offset/4] {
				returns = append(returns, offset)
			}
		case in.flow == flowIndirect, in.flow == flowJump && (in.target < 0 || in.target >= len(f.Code)):
			jumps = append(jumps, offset)
		}
		return true
	})
	if err != nil {
		return nil, err
	}
	if returns == nil {
		return nil, &NoReturnError{jumps}
	}
	return returns, nil
}
