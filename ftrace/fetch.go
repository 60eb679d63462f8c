package ftrace

import (
	"fmt"
	"strings"
)

// FetchArg is one argument of a probe: what the kernel fetches at a hit
// (Documentation/trace/uprobetracer.rst and kprobetrace.rst, FETCHARGS).
type FetchArg struct {
	Name  string // of the field in the record
	Fetch string // where the value comes from: "%di", "+0($retval)", "$stack1"
	Type  string // as it is printed: "u32", "string", "x8[4]"; "" for x64
	// Signed, of a bit field (b5@3/32), says that its highest bit is a sign. The kernel has no
	// such type: see Field.SignBits.
	Signed bool
	// Length, of a text, names the argument that has its length in bytes. The kernel reads a text up
	// to its first zero byte, and those of Go and Rust have none: see Field.LengthSize.
	Length string
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

// Error is the message, and below it the text with a caret under the byte at
// Pos.
func (e *SyntaxError) Error() string { return e.Message + point(e.Text, e.Pos) }

// Limits of kernel/trace/trace_probe.h.
const (
	maxFetchArgs  = 128 // MAX_TRACE_ARGS
	maxFetchName  = 32  // MAX_ARG_NAME_LEN
	maxFetchBody  = 63  // MAX_ARGSTR_LEN
	maxFetchArray = 64  // MAX_ARRAY_LEN
	maxFetchSteps = 16  // FETCH_INSN_MAX
)

// ParseFetchArgs reads fetch arguments that are separated by white space. An
// argument without a name gets the one that the kernel gives it: arg1 if it is
// the first, and so on. The error is a *SyntaxError.
//
// The grammar is that of kernel/trace/trace_probe.c for user probes:
//
//	[NAME=]FETCH[:TYPE]
//	FETCH  %REGISTER | $stackN | $stack | $retval | $comm | @ADDRESS | @+FILEOFFSET
//	       | +OFFSET(FETCH) | -OFFSET(FETCH) | +uOFFSET(FETCH) | \NUMBER | \"TEXT"
//	TYPE   u8 … u64, s8 … s64, x8 … x64, char, string, ustring, each also as an
//	       array u8[N]; bitfields bWIDTH@OFFSET/CONTAINER
//
// and $argN for the Nth argument of the function, which UserArgs translates.
// Names of registers are UserArgs's matter, whether $retval and $argN have their
// place in the probe too. Three things that the kernel takes and makes nonsense
// of are errors: text behind a closing parenthesis or behind $retval, both of
// which it does not read, and a stack word beyond 32 bits, of which it fetches
// another one.
func ParseFetchArgs(text string) ([]FetchArg, error) { return parseFetchArgs(text, false) }

func parseFetchArgs(text string, kernel bool) ([]FetchArg, error) {
	for i := range len(text) {
		if isForbidden(text[i]) {
			return nil, &SyntaxError{text, i, "The kernel can't read this character"}
		}
	}
	var args []FetchArg
	for start := 0; ; {
		start += len(text[start:]) - len(strings.TrimLeftFunc(text[start:], isSeparator))
		if start == len(text) {
			return args, nil
		}
		end := start + strings.IndexFunc(text[start:]+" ", isSeparator)
		if len(args) == maxFetchArgs {
			return nil, &SyntaxError{text, start, fmt.Sprintf("A probe can't have more than %d arguments", maxFetchArgs)}
		}
		p := fetchParser{text: text, kernel: kernel}
		arg, err := p.arg(start, end, args)
		if err != nil {
			return nil, err
		}
		args = append(args, arg)
		start = end
	}
}
