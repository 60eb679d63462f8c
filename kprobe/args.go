package kprobe

import (
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strconv"

	"github.com/ringtap/ringtap/ftrace"
	"github.com/ringtap/ringtap/internal/text/escape"
	"github.com/ringtap/ringtap/symbols"
)

// argNumber matches $argN in a fetch argument.
var argNumber = regexp.MustCompile(`\$arg[0-9]+`)

// args translates the definition's arguments for a function. entry says whether the probe is at
// the function's first instruction.
func (r *resolver) args(f Function, entry bool) ([]ftrace.FetchArg, error) {
	var out []ftrace.FetchArg
	isReturn := r.definition.Kind == Return
	for _, arg := range r.definition.Args {
		fetched := []ftrace.FetchArg{arg.Fetch}
		if arg.Path != "" {
			var err error
			if fetched, err = r.options.Types.Fetch(f, isReturn, arg); err != nil {
				return nil, r.typeError(&arg, err)
			}
		}
		for _, a := range fetched {
			if a.Name == "" {
				a.Name = "arg" + strconv.Itoa(len(out)+1)
			}
			if arg.Path != "" && arg.Fetch.Name == "" {
				a.Name = ftrace.FreeArgName(a.Name, out)
			}
			if !entry && !isReturn && argNumber.MatchString(a.Fetch) {
				return nil, r.argError(arg.Pos, "the arguments are where the caller put them at a function's first instruction only; name a register instead")
			}
			translated, notes, err := ftrace.KernelArgs([]ftrace.FetchArg{a}, r.arch, isReturn)
			if err != nil {
				return nil, r.argError(arg.Pos, "%v", err)
			}
			for _, note := range notes {
				r.note("%s", note)
			}
			if err := r.variable(translated[0], arg.Pos); err != nil {
				return nil, err
			}
			out = append(out, translated[0])
		}
	}
	return out, r.checkNames(out)
}

func (r *resolver) argError(pos int, format string, args ...any) error {
	return &ftrace.SyntaxError{Text: r.definition.Text, Pos: pos, Message: escape.Text(fmt.Sprintf(format, args...))}
}

// typeError returns an error that points at the part of an expression that contradicts the type
// information.
func (r *resolver) typeError(arg *Arg, err error) error {
	var syntax *ftrace.SyntaxError
	if !errors.As(err, &syntax) || syntax.Text != arg.Path {
		return r.argError(arg.Pos, "%v", err)
	}
	pos := arg.Pos + syntax.Pos
	if arg.Fetch.Name != "" {
		pos += len(arg.Fetch.Name + "=")
	}
	return r.argError(min(pos, len(r.definition.Text)), "%s", syntax.Message)
}

// variable returns an error for an argument @SYMBOL if the kernel lists its variables but not
// this one.
func (r *resolver) variable(a ftrace.FetchArg, pos int) error {
	name := a.Symbol()
	if name == "" || slices.Contains(r.variables, name) {
		return nil
	}
	found, listed := false, false
	_, err := r.lookup.kernel.symbols(false, func(s *symbols.KernelSymbol) bool {
		found = found || string(s.Name) == name
		listed = listed || string(s.Name) == "init_task"
		return false
	})
	switch {
	case err != nil || found:
		r.variables = append(r.variables, name)
		return nil
	case !listed:
		return r.argError(pos, "the kernel does not find %s: its list has functions only (CONFIG_KALLSYMS_ALL is off)", name)
	}
	return r.argError(pos, "the kernel has no variable %s", name)
}

func (r *resolver) checkNames(args []ftrace.FetchArg) error {
	if err := ftrace.CheckArgNames(args); err != nil {
		return r.argError(r.definition.Args[0].Pos, "%v", err)
	}
	return nil
}
