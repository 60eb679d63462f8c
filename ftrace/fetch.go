package ftrace

import (
	"fmt"
	"strings"
)

// FetchArg is one fetch argument of a probe: a value that the kernel records at each hit
// (Documentation/trace/uprobetracer.rst and kprobetrace.rst, FETCHARGS).
type FetchArg struct {
	Name  string // name of the field in the record
	Fetch string // where the value comes from: "%di", "+0($retval)", "$stack1"
	Type  string // how it is stored and printed: "u32", "string", "x8[4]"; "" for x64
	// Signed says that the highest bit of a bit field (b5@3/32) is a sign. The kernel has no
	// such type: see Field.SignBits.
	Signed bool
	// Length is the name of the argument with the length of this text, in bytes. The kernel
	// reads a text up to its first NUL byte, but Go and Rust strings have none: see
	// Field.LengthSize.
	Length string
}

// String returns the argument in the kernel's syntax: name=fetch:type.
func (a FetchArg) String() string {
	if a.Type == "" {
		return a.Name + "=" + a.Fetch
	}
	return a.Name + "=" + a.Fetch + ":" + a.Type
}

// SyntaxError says where a text is malformed.
type SyntaxError struct {
	Text    string
	Pos     int // byte offset in Text
	Message string
}

// Error returns the message and, below it, the text with a caret under the byte at Pos.
func (e *SyntaxError) Error() string { return e.Message + point(e.Text, e.Pos) }

// Limits of kernel/trace/trace_probe.h.
const (
	maxFetchArgs  = 128 // MAX_TRACE_ARGS
	maxFetchName  = 32  // MAX_ARG_NAME_LEN
	maxFetchBody  = 63  // MAX_ARGSTR_LEN
	maxFetchArray = 64  // MAX_ARRAY_LEN
	maxFetchSteps = 16  // FETCH_INSN_MAX
)

// ParseFetchArgs parses fetch arguments of a user probe, separated by white space. An argument
// without a name gets the kernel's default: arg1 for the first one, and so on. The error is a
// *SyntaxError.
//
// The grammar is that of kernel/trace/trace_probe.c for user probes:
//
//	[NAME=]FETCH[:TYPE]
//	FETCH  %REGISTER | $stackN | $stack | $retval | $comm | @ADDRESS | @+FILEOFFSET
//	       | +OFFSET(FETCH) | -OFFSET(FETCH) | +uOFFSET(FETCH) | \NUMBER | \"TEXT"
//	TYPE   u8 … u64, s8 … s64, x8 … x64, char, string, ustring, each also as an
//	       array u8[N]; bitfields bWIDTH@OFFSET/CONTAINER
//
// $argN is the Nth argument of the function, which UserArgs translates. UserArgs also checks
// the names of registers, and whether the probe may use $retval and $argN.
//
// Three inputs that the kernel accepts but misreads are errors here: text after a closing
// parenthesis and text after $retval, which it ignores; and a stack index of more than 32 bits,
// for which it fetches another word.
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
