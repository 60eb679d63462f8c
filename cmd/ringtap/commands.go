package main

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/ringtap/ringtap/internal/launch"
	"github.com/ringtap/ringtap/internal/names"
)

// command is one command of ringtap.
type command struct {
	name    string
	aliases []string // other spellings, not listed in the help
	summary string
	run     func(ctx context.Context, out *console, args []string) error
}

// commands returns every command, in the order of the help text.
func commands() []command {
	var all []command
	for i := range questionKinds {
		all = append(all, questionKinds[i].command())
	}
	all = append(all, []command{
		{"uprobe", nil, "trace a place in user code, a line for each hit", traceUprobe},
		{"kprobe", nil, "trace a place in the kernel, a line for each hit", traceKprobe},
		{"tpoint", nil, "trace a kernel tracepoint, a line for each hit", traceTracepoint},
		{"functrace", nil, "trace calls of kernel functions, a line for each call", traceCalls},
		{"funcgraph", nil, "show what a kernel function calls, and how long each call takes", traceGraph},
		{"funcslower", nil, "show the slow calls of a kernel function", traceSlower},
		{"funccount", nil, "count how often functions are called", countFunctions},
		{"hist", nil, "show how long calls take, or what values are, as a histogram", printHistogram},
		{"run", []string{"bpftrace"}, "run a program in bpftrace's language", runProgram},
	}...)
	all = append(all, shippedCommands()...)
	return append(all, []command{
		{"stack", nil, "show what the threads of a process wait for, and their stacks", printStacks},
		{"list", nil, "list the events that can be traced, counted and sampled", listEvents},
		{"check", nil, "show which commands work on this kernel, and what to do about the others", check},
		{"reset", nil, "remove what killed ringtaps have left in tracefs", reset},
		{"completion", nil, "print the completion script of a shell", completion},
		{"version", nil, "print the version, the commit and the Go version", version},
	}...)
}

// families are the commands as the help lists them: each begins with the command that
// is named.
var families = []struct{ title, first string }{
	{"Profile: where time, memory and I/O go", "on-cpu"},
	{"Trace, a line for each hit", "uprobe"},
	{"Count and measure", "funccount"},
	{"Programs in bpftrace's language", "run"},
	{"Look around", "stack"},
	{"About ringtap", "reset"},
}

// find returns the command of that name or alias, or nil.
func find(name string) *command {
	for _, cmd := range commands() {
		if cmd.name == name || slices.Contains(cmd.aliases, name) {
			return &cmd
		}
	}
	return nil
}

// elsewhere are the commands of other tools, and what does the same here.
var elsewhere = map[string]string{
	"record":   "'ringtap on-cpu --out FILE' records and writes a report in one step",
	"report":   "'ringtap on-cpu' reports at the end of the run; --out FILE writes HTML, pprof, folded stacks and more",
	"script":   "'ringtap on-cpu --out FILE.folded' writes stacks for other programs; 'ringtap tpoint' prints a line for each event",
	"top":      "'ringtap on-cpu -i 2' reports every two seconds",
	"annotate": "'ringtap on-cpu --tables' shows exact addresses, and --inlines source lines",
	"stat":     "'ringtap funccount' counts calls and tracepoints",
	"trace":    "'ringtap tpoint \"syscalls:sys_enter_*\"' traces system calls; 'ringtap uprobe' and 'kprobe' trace functions",
	"mem":      "'ringtap memleak' shows memory that is not freed, and 'ringtap llc' cache misses",
	"lock":     "'ringtap stack --deadlock' shows who holds a lock, and 'ringtap off-cpu' how long threads wait",
	"sched":    "'ringtap off-cpu' shows how long threads wait, and 'ringtap tpoint \"sched:*\"' each event",
	"flame":    "'ringtap on-cpu --out FILE.html' writes a flame graph",
}

// choose picks the command that the first argument names and returns it with
// its own arguments.
func choose(args []string) (*command, []string, error) {
	if len(args) == 0 {
		return &command{name: "help", run: helpAlone}, nil, nil
	}
	switch args[0] {
	case "-h", "--help", "help":
		if len(args) > 1 && args[0] == "help" {
			return choose([]string{args[1], "--help"})
		}
		return &command{name: "help", run: help}, nil, nil
	case "--version", "-V":
		args = []string{"version"}
	}
	if cmd := find(args[0]); cmd != nil {
		return cmd, args[1:], nil
	}
	if instead := elsewhere[args[0]]; instead != "" {
		return nil, nil, usagef("no command %q: %s", args[0], instead)
	}
	if near := names.Near(args[0], commandNames()); near != "" {
		return nil, nil, usagef("no command %q: did you mean %s?", args[0], near)
	}
	return nil, nil, usagef("no command %q: one of %s", args[0], strings.Join(commandNames(), ", "))
}

func commandNames() []string {
	var all []string
	for _, cmd := range commands() {
		all = append(all, cmd.name)
	}
	return all
}

const about = "ringtap shows what a live Linux host is doing: profiles, probes and stacks, without bpf(2)."

func help(_ context.Context, out *console, _ []string) error {
	var text strings.Builder
	text.WriteString(about + `

Usage: ringtap COMMAND [options] [arguments]

  sudo ringtap on-cpu -d 5                    where the CPU time of this host goes
  ringtap on-cpu --out cpu.html -- ./prog     a command, as a flame graph
  sudo ringtap off-cpu -p 4242 -d 5           what a process waits for
  sudo ringtap stack 4242                     why it hangs
`)
	family := 0
	for _, cmd := range commands() {
		if family < len(families) && cmd.name == families[family].first {
			fmt.Fprintf(&text, "\n%s:\n", families[family].title)
			family++
		}
		fmt.Fprintf(&text, "  %-14s %s\n", cmd.name, cmd.summary)
	}
	text.WriteString(`
'ringtap COMMAND --help' shows the options of a command, with examples.
Exit status: 0 done, 1 failed, 2 wrong usage; a started command's own status if it fails.
`)
	_, err := fmt.Fprint(out.stdout, text.String())
	return err
}

// helpAlone is the help for who gave no command, which is wrong usage.
func helpAlone(ctx context.Context, out *console, args []string) error {
	return errors.Join(help(ctx, out, args), launch.StatusError(exitUsage))
}
