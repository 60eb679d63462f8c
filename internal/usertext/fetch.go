package usertext

import (
	"strconv"
	"strings"

	"github.com/ringtap/ringtap/ftrace"
)

// fetch is a fetch argument that ends in a text: a register, and the way from there.
type fetch struct {
	register int
	path     []int64
}

// isText tells whether an argument fetches one text.
func isText(a *ftrace.FetchArg) bool { return a.Type == "string" || a.Type == "ustring" }

// Register returns the number, of the kernel's perf_regs.h, of the register that a fetch argument
// such as %si is.
func Register(fetch string) (number int, ok bool) {
	name, ok := strings.CutPrefix(fetch, "%")
	if !ok {
		return 0, false
	}
	return registers(name)
}

// parse reads an argument such as +8(+16(%dx)), as the kernel's probes of user code have it. It
// returns false for those that do not begin at a register.
func parse(text string) (f fetch, ok bool) {
	for strings.HasPrefix(text, "+") || strings.HasPrefix(text, "-") {
		number, inner, found := strings.Cut(text, "(")
		inner, closed := strings.CutSuffix(inner, ")")
		offset, err := strconv.ParseInt(strings.Replace(number, "u", "", 1), 0, 64)
		if !found || !closed || err != nil {
			return fetch{}, false
		}
		f.path = append([]int64{offset}, f.path...)
		text = inner
	}
	if len(f.path) == 0 {
		return fetch{}, false
	}
	switch word, isStack := strings.CutPrefix(text, "$stack"); {
	case text == "$retval":
		f.register, ok = returnRegister, true
	case isStack && word == "":
		f.register, ok = stackPointer, true
	case isStack:
		n, err := strconv.ParseUint(word, 10, 16)
		f.register, ok = stackPointer, err == nil
		f.path = append([]int64{8 * int64(n)}, f.path...)
	default:
		f.register, ok = registers(strings.TrimPrefix(text, "%"))
	}
	return f, ok
}
