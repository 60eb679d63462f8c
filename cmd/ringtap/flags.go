package main

import (
	"cmp"
	"errors"
	"fmt"
	"math"
	"os/exec"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/pflag"

	"github.com/ringtap/ringtap/internal/cli/manual"
	"github.com/ringtap/ringtap/internal/cli/usage"
	"github.com/ringtap/ringtap/internal/output"
	"github.com/ringtap/ringtap/internal/text/match"
)

// newFlags returns an empty flag set for a command. With --help it prints the command's
// page: text and the flags.
func newFlags(out *console, name, text string) *pflag.FlagSet {
	flags := pflag.NewFlagSet(name, pflag.ContinueOnError)
	flags.SortFlags = false
	flags.SetOutput(out.stdout)
	flags.Usage = func() {
		page := manual.Parse(name, find(name).summary, text)
		page.AddFlags(flags, targetGroup, whenGroup, whatGroup, outputGroup, perfGroup, controlGroup)
		if out.page != nil {
			out.page(page, flags)
			return
		}
		fmt.Fprint(out.stdout, page.Help("ringtap", out.width))
	}
	return flags
}

// parse parses args and turns what pflag finds wrong into a *usage.Error.
func parse(flags *pflag.FlagSet, args []string) error {
	err := flags.Parse(args)
	if err == nil {
		return refuseEmpty(flags)
	}
	if errors.Is(err, pflag.ErrHelp) {
		return err
	}
	if err := oneDash(flags, args); err != nil {
		return err
	}
	var invalid *pflag.InvalidValueError
	var number *strconv.NumError
	if errors.As(err, &invalid) && errors.As(err, &number) {
		flag := invalid.GetFlag()
		_, usage := pflag.UnquoteUsage(flag)
		why := "want a whole number"
		if flag.Name == "top" && output.IsFile(invalid.GetValue()) {
			return usagef("-o takes a number of rows; to write a file, use --out %s", invalid.GetValue())
		}
		switch {
		case errors.Is(number, strconv.ErrRange):
			why = "out of range"
		case flag.Value.Type() != "int":
			why += " that is not negative"
		}
		return usagef("--%s %q: %s (%s)", flag.Name, invalid.GetValue(), why, usage)
	}
	var unknown *pflag.NotExistError
	if errors.As(err, &unknown) {
		return unknownFlag(flags, unknown, args)
	}
	var bare *pflag.ValueRequiredError
	if errors.As(err, &bare) {
		flag := bare.GetFlag()
		value, text := pflag.UnquoteUsage(flag)
		name := "--" + flag.Name
		if bare.GetSpecifiedShortnames() != "" {
			name = "-" + flag.Shorthand
		}
		return usagef("%s needs a value: %s %s (%s)", name, name, cmp.Or(value, "VALUE"), text)
	}
	return &usage.Error{Err: err}
}

// oneDash returns the error for the first long flag that was written with one dash, as Go's own
// flags may be. It returns nil if every long flag has two.
func oneDash(flags *pflag.FlagSet, args []string) error {
	for i, arg := range args {
		if arg == "--" {
			break
		}
		word, dash := strings.CutPrefix(arg, "-")
		name, _, hasValue := strings.Cut(word, "=")
		flag := flags.Lookup(name)
		if !dash || len(name) < 2 || flag == nil {
			continue
		}
		if isProgram(args[0]) && flags.Lookup("cgroup") != nil {
			return commandWithoutDashes(flags, "-"+name, strings.Join(args, " "))
		}
		meant := "--" + word
		if !hasValue && flag.NoOptDefVal == "" && i+1 < len(args) {
			meant += " " + args[i+1]
		}
		return usagef("no flag -%s; did you mean %s?", name, meant)
	}
	return nil
}

// unknownFlag explains a flag that the command does not have. A flag after a word that is not
// ringtap's own probably belongs to a command that the user wants to run: on-cpu ls -l.
func unknownFlag(flags *pflag.FlagSet, unknown *pflag.NotExistError, args []string) error {
	name := unknown.GetSpecifiedName()
	written := "--" + name
	if unknown.GetSpecifiedShortnames() != "" {
		written = "-" + name
	}
	var known []string
	flags.VisitAll(func(f *pflag.Flag) {
		if !f.Hidden {
			known = append(known, "--"+f.Name)
		}
	})
	isPerfs := flags.Lookup("symfs") != nil && slices.Contains(perfReportFlags, name)
	if len(name) > 1 && !isPerfs {
		if near := match.Near(written, known); near != nil {
			return usagef("no flag %s; %s", written, match.DidYouMean(near))
		}
	}
	if flag := otherCase(flags, name); flag != nil && !isPerfs {
		return usagef("no flag %s; did you mean -%s (--%s)?", written, flag.Shorthand, flag.Name)
	}
	if isPerfs && flags.Lookup("disassembler-style") != nil {
		return usagef("no flag %s: ringtap annotate [FUNCTION] [FILE] always prints text", written)
	}
	if isPerfs {
		return usagef("no flag %s: ringtap always shows functions by their own and their total time and the call tree; --out FILE.html has more; ringtap report --stdio prints perf report's table", written)
	}
	if command := wordBefore(args, written); command != "" && flags.Lookup("cgroup") != nil {
		return commandWithoutDashes(flags, written, command)
	}
	return usagef("no flag %s", written)
}

// perfReportFlags are options of perf report and perf script that people type, and that ringtap does
// not have.
var perfReportFlags = []string{"stdio", "g", "G", "n", "s", "S", "sort", "F", "fields", "children", "no-children", "call-graph",
	"percent-limit", "header", "comm", "comms", "c", "dso", "dsos", "symbols", "no-inline", "hierarchy", "tui"}

// commandWithoutDashes returns the error for a user who forgot the -- before the program to run, so
// that ringtap took one of the program's flags for its own.
func commandWithoutDashes(flags *pflag.FlagSet, flag, command string) error {
	return usagef("no flag %s; to run a command, put it after --: ringtap %s -- %s", flag, flags.Name(), command)
}

// wordBefore returns the rest of the command line from the last word before flag that names a
// program, or "" if there is none.
func wordBefore(args []string, flag string) string {
	at := slices.IndexFunc(args, func(arg string) bool { return strings.HasPrefix(arg, flag) })
	for i := at - 1; i >= 0; i-- {
		if isProgram(args[i]) {
			return strings.Join(args[i:], " ")
		}
	}
	return ""
}

// isProgram reports whether a shell would find a program called word.
func isProgram(word string) bool {
	_, err := exec.LookPath(word)
	return err == nil
}

// otherCase returns the flag whose letter differs from this one in case only, or nil: perf's
// -F is -f.
func otherCase(flags *pflag.FlagSet, letter string) *pflag.Flag {
	if len(letter) != 1 {
		return nil
	}
	if upper := strings.ToUpper(letter); upper != letter {
		return flags.ShorthandLookup(upper)
	}
	return flags.ShorthandLookup(strings.ToLower(letter))
}

// refuseEmpty refuses empty arguments and flag values. A shell makes them from an unset
// variable ("$PID"), and ringtap would take them to mean everything. The name of a
// command to run must not be empty either, but its arguments may be.
func refuseEmpty(flags *pflag.FlagSet) error {
	var empty error
	flags.Visit(func(f *pflag.Flag) {
		values := []string{f.Value.String()}
		if list, ok := f.Value.(pflag.SliceValue); ok {
			values = list.GetSlice()
		}
		if empty == nil && slices.Contains(values, "") {
			_, usage := pflag.UnquoteUsage(f)
			empty = usagef("--%s is empty (%s)", f.Name, usage)
		}
	})
	if empty != nil {
		return empty
	}
	own := flags.Args()
	if dash := flags.ArgsLenAtDash(); dash >= 0 {
		own = own[:min(dash+1, len(own))]
	}
	if i := slices.Index(own, ""); i >= 0 {
		return usagef("argument %d of %d is empty", i+1, len(flags.Args()))
	}
	return nil
}

// secondsFlag is a length of time given as a number of seconds ("5", "0.5") or
// with a unit as Go writes it ("500ms", "2m").
type secondsFlag time.Duration

func (s *secondsFlag) Type() string   { return "seconds" }
func (s *secondsFlag) String() string { return formatSeconds(time.Duration(*s)) }

func (s *secondsFlag) Set(text string) error {
	d, err := time.ParseDuration(text)
	if err != nil {
		seconds, err := strconv.ParseFloat(text, 64)
		if err != nil || math.IsNaN(seconds) {
			return fmt.Errorf("%q is not a number of seconds", text)
		}
		if seconds >= math.MaxInt64/float64(time.Second) {
			return fmt.Errorf("%q is too long", text)
		}
		d = time.Duration(seconds * float64(time.Second))
	}
	if d <= 0 {
		return fmt.Errorf("%q must be greater than zero", text)
	}
	*s = secondsFlag(d)
	return nil
}

// formatSeconds returns d in the form that secondsFlag reads, or "" if d is 0.
func formatSeconds(d time.Duration) string {
	if d == 0 {
		return ""
	}
	return strconv.FormatFloat(d.Seconds(), 'g', -1, 64)
}
