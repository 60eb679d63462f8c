package ftrace

import "errors"

// UserArgs puts registers of the architecture (as runtime.GOARCH names it) in
// the place of what only ringtap knows: $arg1 and so on, and the names of another
// architecture's argument registers. Notes say what was understood differently
// from what it says.
func UserArgs(args []FetchArg, arch string, isReturn bool) (out []FetchArg, notes []string, err error) {
	return nil, nil, errors.ErrUnsupported
}
