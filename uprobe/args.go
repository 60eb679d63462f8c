package uprobe

import (
	"errors"
	"fmt"
	"regexp"
	"strconv"
	"strings"

	"github.com/ringtap/ringtap/ftrace"
	"github.com/ringtap/ringtap/internal/arch"
	"github.com/ringtap/ringtap/internal/text/escape"
	"github.com/ringtap/ringtap/symbols/dwarfparam"
)

// argNumber matches $argN in a fetch argument.
var argNumber = regexp.MustCompile(`\$arg[0-9]+`)

// args translates the definition's arguments for the instruction at a file offset. function is
// the file offset of the function that contains it. entry says whether the function's arguments
// are still where the caller put them.
func (r *resolver) args(function, offset uint64, entry bool) ([]ftrace.FetchArg, error) {
	probed := offset
	if entry {
		offset = function
	}
	var out []ftrace.FetchArg
	for _, arg := range r.definition.Args {
		fetched := []ftrace.FetchArg{arg.Fetch}
		var err error
		switch {
		case arg.Path != "" || arg.Param != "" && !entry:
			fetched, err = r.path(arg, offset, probed)
		case arg.Param != "":
			fetched, err = r.params(arg, function, probed)
		}
		if err != nil {
			return nil, err
		}
		first := len(out)
		for _, a := range fetched {
			if a.Name == "" {
				a.Name = "arg" + strconv.Itoa(len(out)+1)
			}
			called := a.Name
			if arg.Param+arg.Path != "" && arg.Fetch.Name == "" {
				a.Name = ftrace.FreeArgName(a.Name, out)
			}
			for i := first; i < len(out); i++ {
				if out[i].Length == called {
					out[i].Length = a.Name
				}
			}
			a, err := r.userArg(a, arg.Pos, function, entry)
			if err != nil {
				return nil, err
			}
			out = append(out, a)
		}
	}
	return out, r.checkNames(out)
}

// userArg replaces names that the kernel does not understand by registers.
func (r *resolver) userArg(a ftrace.FetchArg, pos int, function uint64, entry bool) (ftrace.FetchArg, error) {
	isReturn := r.definition.Kind == Return
	numbered := argNumber.MatchString(a.Fetch)
	if numbered && !entry {
		return a, r.argError(pos, "the arguments are where the caller put them at a function's first instruction only; name a register instead")
	}
	if isReturn && strings.Contains(a.Fetch, "$retval") && !r.compat() {
		if result, ok := r.symbols.Result(function); ok && result.Location.Where == dwarfparam.Nowhere {
			return a, r.argError(pos, "%s has no $retval: %s", r.nameOf(function), result.Location.Why)
		}
	}
	machine := arch.Here
	if r.compat() {
		machine = arch.I386
	}
	goCode := r.isGo(function) && !r.compat() // 32-bit Go code has its arguments where C has them
	if goCode && numbered && !isReturn {
		var err error
		if a.Fetch, err = goArgs(a.Fetch); err != nil {
			return a, r.argError(pos, "%v", err)
		}
		r.note("Go passes arguments in its own registers, word by word: a string takes two of $arg1, $arg2 …, and a slice three")
	}
	out, notes, err := ftrace.UserArgs([]ftrace.FetchArg{a}, machine.Name, isReturn)
	if err != nil || len(out) != 1 {
		var syntax *ftrace.SyntaxError
		if errors.As(err, &syntax) {
			return a, r.argError(pos, "%s", syntax.Message)
		}
		return a, r.argError(pos, "%v", err)
	}
	for _, n := range notes {
		r.note("%s", n)
	}
	a = out[0]
	if goCode && isReturn && strings.Contains(a.Fetch, "$retval") {
		a.Fetch = strings.ReplaceAll(a.Fetch, "$retval", "%"+arch.Here.Go.Results[0].Name)
		r.note("Go returns in several registers: $retval is the first word of the first result")
	}
	return a, nil
}

func (r *resolver) argError(pos int, format string, args ...any) error {
	return &ftrace.SyntaxError{Text: r.definition.Text, Pos: pos, Message: escape.Text(fmt.Sprintf(format, args...))}
}

func (r *resolver) checkNames(args []ftrace.FetchArg) error {
	if err := ftrace.CheckArgNames(args); err != nil {
		return r.argError(r.definition.Args[0].Pos, "%v", err)
	}
	return nil
}

// goArgs replaces $argN by the registers of Go's calling convention.
func goArgs(fetch string) (string, error) {
	var err error
	registers := arch.Here.Go.Arguments
	out := argNumber.ReplaceAllStringFunc(fetch, func(arg string) string {
		n, _ := strconv.Atoi(arg[len("$arg"):])
		if n < 1 || n > len(registers) {
			err = fmt.Errorf("%s: Go passes only $arg1 to $arg%d in registers", arg, len(registers))
			return arg
		}
		return "%" + registers[n-1].Name
	})
	return out, err
}
