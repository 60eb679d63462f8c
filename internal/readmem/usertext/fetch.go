package usertext

import (
	"strconv"
	"strings"

	"github.com/ringtap/ringtap/ftrace"
	"github.com/ringtap/ringtap/internal/arch"
	"github.com/ringtap/ringtap/internal/readmem/athit"
)

// isText reports whether an argument fetches one text.
func isText(a *ftrace.FetchArg) bool { return a.Type == "string" || a.Type == "ustring" }

// Register returns the number, in the kernel's perf_regs.h, of the register that a fetch argument such as %si
// names.
func Register(fetch string) (number int, ok bool) {
	name, ok := strings.CutPrefix(fetch, "%")
	r := arch.Here.Register(name)
	if !ok || r == nil || r.Perf == arch.None {
		return 0, false
	}
	return int(r.Perf), true
}

// parse parses a fetch argument of a user probe, such as +8(+16(%dx)). It returns false if the argument does not
// start from a register.
func parse(text string) (p athit.Pointer, ok bool) {
	p.InRegister = true
	for strings.HasPrefix(text, "+") || strings.HasPrefix(text, "-") {
		number, inner, found := strings.Cut(text, "(")
		inner, closed := strings.CutSuffix(inner, ")")
		offset, err := strconv.ParseInt(strings.Replace(number, "u", "", 1), 0, 64)
		if !found || !closed || err != nil {
			return p, false
		}
		p.Path = append([]int64{offset}, p.Path...)
		text = inner
	}
	if len(p.Path) == 0 {
		return p, false
	}
	switch word, isStack := strings.CutPrefix(text, "$stack"); {
	case text == "$retval":
		p.Register, ok = int(arch.Here.C.Results[0].Perf), true
	case isStack && word == "":
		p.Register, ok = int(arch.Here.SP.Perf), true
	case isStack:
		n, err := strconv.ParseUint(word, 10, 16)
		p.Register, ok = int(arch.Here.SP.Perf), err == nil
		p.Path = append([]int64{8 * int64(n)}, p.Path...)
	default:
		p.Register, ok = Register(text)
	}
	return p, ok
}
