package main

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/ringtap/ringtap/internal/cli/launch"
	"github.com/ringtap/ringtap/internal/text/match"
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
		{"record", nil, "record samples into a file (perf.data), to look at them later", recordEvents},
		{"report", nil, "show where the samples of a recording (perf.data) are", report},
		{"annotate", nil, "show which instructions and source lines of a function are hot", annotateFunction},
		{"flame", nil, "make a flame graph of a recording or of another tool's profile", flame},
		{"diff", nil, "compare two profiles: where the time went before and after a change", diffProfiles},
		{"script", nil, "print the samples of a recording, line by line, as perf script does", printScript},
		{"uprobe", nil, "trace user functions and instructions, a line for each hit", traceUprobe},
		{"kprobe", nil, "trace kernel functions and instructions, a line for each hit", traceKprobe},
		{"tpoint", nil, "trace kernel tracepoints, a line for each hit", traceTracepoint},
		{"functrace", nil, "trace kernel function calls, a line for each call", traceCalls},
		{"funcgraph", nil, "show the call graph of a kernel function, with durations", traceGraph},
		{"funcslower", nil, "trace slow calls of a kernel function", traceSlower},
		{"funccount", nil, "count calls of functions, or hits of tracepoints", countFunctions},
		{"hist", nil, "show latencies or values as a histogram", printHistogram},
		{"run", []string{bpftrace}, "run a bpftrace program", runProgram},
	}...)
	all = append(all, shippedCommands()...)
	return append(all, []command{
		{"stack", nil, "show the stacks of a process and what its threads wait for", printStacks},
		{"list", nil, "list events that can be traced, counted or sampled", listEvents},
		{"check", nil, "show which commands work on this kernel, and how to fix others", check},
		{"reset", nil, "remove what killed ringtap processes left in tracefs", reset},
		{"completion", nil, "print a completion script for bash, zsh or fish", completion},
		{"version", nil, "print the version, commit and Go version", version},
	}...)
}

// families are the commands as the help groups them, each with the name of its first command.
var families = []struct{ title, first string }{
	{"Profile", "on-cpu"},
	{"Recording", "record"},
	{"Trace", "uprobe"},
	{"Count", "funccount"},
	{"bpftrace", "run"},
	{"Look", "stack"},
	{"Manage", "reset"},
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

// elsewhere maps commands of other tools to the ringtap commands that do the same.
var elsewhere = map[string]string{
	"top":        "'ringtap on-cpu -i 2' reports every two seconds",
	"stat":       "'ringtap funccount' counts calls and tracepoints",
	"mem":        "'ringtap memleak' shows memory that is not freed, and 'ringtap llc' cache misses",
	"lock":       "'ringtap stack --deadlock' shows who holds a lock, and 'ringtap off-cpu' how long threads wait",
	"sched":      "'ringtap off-cpu' shows how long threads wait, and 'ringtap tpoint \"sched:*\"' each event",
	"flamegraph": "'ringtap flame FILE' writes a flame graph of a recording, and 'ringtap on-cpu --out FILE.html' one of a live run",
	"strace":     "'ringtap tpoint -p PID \"syscalls:sys_enter_*\"' prints a process's system calls, and 'ringtap syscount' counts them",
	"ltrace":     "'ringtap uprobe -p PID p:libc:malloc' prints calls of a library function, and 'ringtap funccount' counts them",
	"gdb":        "'ringtap stack PID' shows the stacks of a process without stopping it",
	"pstack":     "'ringtap stack PID' shows the stacks of a process without stopping it",
	"py-spy":     "'ringtap on-cpu -p PID' names Python functions, and so does 'ringtap stack PID'",
	"iotop":      "'ringtap io' shows who reads and writes",
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
			if args[1] == "all" {
				return &command{name: "help", run: helpAll}, nil, nil
			}
			return choose([]string{args[1], "--help"})
		}
		return &command{name: "help", run: help}, nil, nil
	case "--version", "-V":
		args = []string{"version"}
	}
	if cmd := find(args[0]); cmd != nil {
		return cmd, args[1:], nil
	}
	return nil, nil, unknownCommand(args)
}

// maxSuggested limits the commands that unknownCommand suggests because they contain the word.
const maxSuggested = 3

// unknownCommand explains that args[0] is no command. It suggests another tool's counterpart,
// commands with a similar name, or commands that have the word in their name or summary.
func unknownCommand(args []string) error {
	word := args[0]
	if instead := elsewhere[word]; instead != "" {
		return usagef("no command %q: %s", word, instead)
	}
	var all, holding []string
	for _, cmd := range commands() {
		all = append(all, cmd.name)
		if len(word) > 2 && len(holding) < maxSuggested && strings.Contains(cmd.name+" "+cmd.summary, strings.ToLower(word)) {
			holding = append(holding, cmd.name)
		}
	}
	near := match.Near(word, all)
	if near == nil {
		near = holding
	}
	switch {
	case near != nil:
		return usagef("no command %q; %s", word, match.DidYouMean(near))
	case isProgram(word):
		return usagef("no command %q; to profile a program: ringtap on-cpu -- %s", word, strings.Join(args, " "))
	}
	return usagef("no command %q; 'ringtap help all' lists the commands", word)
}

// help prints the commands by family. It fits a terminal of 24 lines.
func help(_ context.Context, out *console, _ []string) error {
	var text strings.Builder
	text.WriteString(`ringtap shows what a live Linux host is doing, without bpf(2).

Usage: ringtap COMMAND [options] [arguments]

  ringtap on-cpu -d 5                         where the host's CPU time goes
  ringtap off-cpu -p 4242 -d 5                what a process waits for
  ringtap memleak -p 4242 -i 10               what it allocates and never frees
  ringtap io --by file -d 5                   which files are read and written
  ringtap uprobe 'p:libc:open $arg1:string'   what a function is called with
  ringtap stack --deadlock 4242               why a process hangs

`)
	for i, list := range byFamily() {
		members := ""
		if families[i].first == "run" {
			members = fmt.Sprintf("run, and %d programs: execsnoop, opensnoop, biolatency, tcplife, …", len(list)-1)
		} else {
			for _, cmd := range list {
				members += cmd.name + " "
			}
		}
		fmt.Fprintf(&text, "%-10s %s\n", families[i].title, strings.TrimSpace(members))
	}
	text.WriteString(`
'ringtap help all' lists every command; 'ringtap COMMAND --help' its options.
Exit status: 0 done, 1 failed, 2 wrong usage, or that of the started command.
`)
	_, err := fmt.Fprint(out.stdout, text.String())
	return err
}

// helpAll prints every command with its summary.
func helpAll(_ context.Context, out *console, _ []string) error {
	var text strings.Builder
	for i, list := range byFamily() {
		fmt.Fprintf(&text, "%s:\n", families[i].title)
		for _, cmd := range list {
			fmt.Fprintf(&text, "  %-14s %s\n", cmd.name, cmd.summary)
		}
		text.WriteByte('\n')
	}
	text.WriteString("'ringtap COMMAND --help' shows the options of a command, with examples.\n")
	_, err := fmt.Fprint(out.stdout, text.String())
	return ignoreClosedPipe(err)
}

// byFamily returns the commands of each family.
func byFamily() [][]command {
	var lists [][]command
	for _, cmd := range commands() {
		if next := len(lists); next < len(families) && cmd.name == families[next].first {
			lists = append(lists, nil)
		}
		last := len(lists) - 1
		lists[last] = append(lists[last], cmd)
	}
	return lists
}

// helpAlone prints the help for a command line without a command. The exit code is exitUsage.
func helpAlone(ctx context.Context, out *console, args []string) error {
	return errors.Join(help(ctx, out, args), launch.StatusError(exitUsage))
}
