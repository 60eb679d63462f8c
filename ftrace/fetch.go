package ftrace

import "errors"

// FetchArg is one argument of a probe: what the kernel fetches at a hit
// (Documentation/trace/uprobetracer.rst, FETCHARGS).
type FetchArg struct {
	Name  string // of the field in the record
	Fetch string // where the value comes from: "%di", "+0($retval)", "$stack1"
	Type  string // as it is printed: "u32", "string", "x8[4]"; "" for x64
}

// String is the argument as the kernel reads it: name=fetch:type.
func (a FetchArg) String() string {
	if a.Type == "" {
		return a.Name + "=" + a.Fetch
	}
	return a.Name + "=" + a.Fetch + ":" + a.Type
}

// SyntaxError says where a text does not follow its grammar.
type SyntaxError struct {
	Text    string
	Pos     int // byte in Text
	Message string
}

func (e *SyntaxError) Error() string { return e.Message + point(e.Text, e.Pos) }

// ParseFetchArgs reads fetch arguments that are separated by white space. An
// argument without a name gets the one that the kernel gives it: arg1 if it is
// the first, and so on. The error is a *SyntaxError.
func ParseFetchArgs(text string) ([]FetchArg, error) { return nil, errors.ErrUnsupported }
