package uprobe

import (
	"cmp"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/ringtap/ringtap/ftrace"
	"github.com/ringtap/ringtap/internal/probe/usdt"
	"github.com/ringtap/ringtap/internal/text/match"
)

// marks resolves provider:name to all places of that USDT probe.
func (r *resolver) marks() error {
	d := r.definition
	provider, err := match.ParseGlob(d.Provider)
	if err != nil {
		return fmt.Errorf("pattern %q: %w", d.Provider, err)
	}
	name, err := match.ParseGlob(d.Mark)
	if err != nil {
		return fmt.Errorf("pattern %q: %w", d.Mark, err)
	}
	known, err := usdt.Read(r.image)
	if err != nil {
		return &TargetError{Path: r.Path, Err: fmt.Errorf("read its USDT probes: %w", err)}
	}
	for _, mark := range known {
		if !provider.Match(mark.Provider) || !name.Match(mark.Name) {
			continue
		}
		site := Site{
			Offset: mark.Location,
			Event:  ftrace.EventIdentifier(mark.Provider + "_" + mark.Name),
		}
		if mark.Sem {
			site.RefCtr = mark.Semaphore
		}
		if fn, ok := r.holding(mark.Location); ok {
			site.Symbol = fn.Name
		}
		if site.Args, err = r.markArgs(mark); err != nil {
			return err
		}
		r.add(site)
	}
	if len(r.plan.Sites) > 0 {
		return nil
	}
	failed := &MarkError{Path: r.Path, Provider: d.Provider, Name: d.Mark}
	for _, mark := range known {
		failed.Known = append(failed.Known, mark.Provider+":"+mark.Name)
	}
	slices.Sort(failed.Known)
	failed.Known = slices.Compact(failed.Known)
	return failed
}

// markArgs translates the definition's arguments for one USDT probe. $args are all of the
// probe's own arguments, and arg1 or $arg1 is one of them. The kernel's syntax works as for any
// instruction.
func (r *resolver) markArgs(mark usdt.Probe) ([]ftrace.FetchArg, error) {
	var out []ftrace.FetchArg
	for _, arg := range r.definition.Args {
		number := markNumber(arg)
		if arg.Param != "$args" && number == 0 {
			if arg.Param != "" {
				return nil, r.argError(arg.Pos, "%s: the arguments of a USDT probe have no names; they are arg1, arg2 …, or $args", arg.Param)
			}
			a, err := r.markOperands(arg, mark)
			if err != nil {
				return nil, err
			}
			a.Name = cmp.Or(a.Name, "arg"+strconv.Itoa(len(out)+1))
			a, err = r.userArg(a, arg.Pos, mark.Location, false)
			if err != nil {
				return nil, err
			}
			out = append(out, a)
			continue
		}
		all, err := mark.FetchArgs(r.image.Machine)
		if arg.Param == "$args" {
			if err != nil {
				r.note("left out arguments of %s that cannot be fetched: %v", &mark, err)
			}
			out = append(out, all...)
			continue
		}
		a, err := r.markArg(arg, mark, number, all, err)
		if err != nil {
			return nil, err
		}
		a.Name = cmp.Or(arg.Fetch.Name, a.Name)
		a = retyped(a, arg.Fetch.Type)
		out = append(out, a)
	}
	return out, r.checkNames(out)
}

// markArg returns one of a USDT probe's own arguments. failed says why some of them are missing
// in all.
func (r *resolver) markArg(arg Arg, mark usdt.Probe, number int, all []ftrace.FetchArg, failed error) (ftrace.FetchArg, error) {
	for _, a := range all {
		if a.Name == "arg"+strconv.Itoa(number) {
			return a, nil
		}
	}
	return ftrace.FetchArg{}, r.argError(arg.Pos, "%s", lacking(&mark, number, len(all), failed))
}

// markOperands replaces $arg1 and so on in an expression by the operands of a USDT probe:
// +0($arg1):string is the text that its first argument points to.
func (r *resolver) markOperands(arg Arg, mark usdt.Probe) (ftrace.FetchArg, error) {
	a := arg.Fetch
	if !argNumber.MatchString(a.Fetch) {
		return a, nil
	}
	all, failed := mark.FetchArgs(r.image.Machine)
	var wrong error
	a.Fetch = argNumber.ReplaceAllStringFunc(a.Fetch, func(text string) string {
		number, _ := strconv.Atoi(text[len("$arg"):])
		operand, err := r.markArg(arg, mark, number, all, failed)
		if err == nil && operand.Type != "u64" && operand.Type != "s64" {
			err = r.argError(arg.Pos, "%s of %s is %s: no address, which has 64 bits", text, &mark, operand.Type)
		}
		wrong = cmp.Or(wrong, err)
		return operand.Fetch
	})
	return a, wrong
}

// MarkInfo is a USDT probe of a target.
type MarkInfo struct {
	Provider, Name string
	// Args are the arguments that can be fetched, with their types; arg1 is the first.
	Args []ftrace.FetchArg
}

// Marks returns the USDT probes of a target, sorted by name. A probe is listed once for each
// combination of argument types. Errors are as for Resolve.
func Marks(target string, o Options) ([]MarkInfo, error) {
	t, err := openTarget(target, o.PID)
	if err != nil {
		return nil, err
	}
	defer t.close()
	known, err := usdt.Read(t.image)
	if err != nil && len(known) == 0 {
		return nil, &TargetError{Path: t.Path, Err: fmt.Errorf("read its USDT probes: %w", err)}
	}
	var marks []MarkInfo
	for _, mark := range known {
		args, _ := mark.FetchArgs(t.image.Machine) // only arguments that can be fetched
		marks = append(marks, MarkInfo{mark.Provider, mark.Name, args})
	}
	slices.SortFunc(marks, func(a, b MarkInfo) int { return cmp.Compare(a.String(), b.String()) })
	return slices.CompactFunc(marks, func(a, b MarkInfo) bool { return a.String() == b.String() }), nil
}

// String returns the probe as definitions name it, with its arguments and their types:
// "provider:name arg1:s32 arg2:u64".
func (m MarkInfo) String() string {
	var out strings.Builder
	out.WriteString(m.Provider + ":" + m.Name)
	for _, a := range m.Args {
		out.WriteString(" " + a.Name + ":" + a.Type)
	}
	return out.String()
}

// markNumber returns the N of arg1, $arg1 and so on, or 0.
func markNumber(arg Arg) int {
	text, ok := strings.CutPrefix(cmp.Or(arg.Param, strings.TrimPrefix(arg.Fetch.Fetch, "$")), "arg")
	n, err := strconv.Atoi(text)
	if !ok || err != nil {
		return 0
	}
	return max(n, 0)
}

// retyped sets the type that the definition asks for. For text, the argument is the address.
func retyped(a ftrace.FetchArg, want string) ftrace.FetchArg {
	switch {
	case want == "":
	case strings.HasPrefix(strings.TrimPrefix(want, "u"), "string"):
		a.Fetch, a.Type = "+0("+a.Fetch+")", want
	default:
		a.Type = want
	}
	return a
}

// lacking returns the reason why a USDT probe's argument cannot be fetched.
func lacking(mark *usdt.Probe, number, fetched int, err error) string {
	if joined, ok := err.(interface{ Unwrap() []error }); ok {
		for _, err := range joined.Unwrap() {
			var reason *usdt.ArgError
			if errors.As(err, &reason) && reason.Number == number {
				return reason.Error()
			}
		}
	}
	return fmt.Sprintf("%s has no argument %d; %d of it can be fetched", mark, number, fetched)
}
