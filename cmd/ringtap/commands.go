package main

import (
	"context"
	"fmt"
	"runtime/debug"
	"slices"
	"strings"

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
	return append(all, []command{
		{"uprobe", nil, "trace a place in user code, a line for each hit", traceUprobe},
		{"kprobe", nil, "trace a place in the kernel, a line for each hit", traceKprobe},
		{"tpoint", nil, "trace a tracepoint of the kernel, a line for each hit", traceTracepoint},
		{"funccount", nil, "how often functions are called", countFunctions},
		{"hist", nil, "how long calls take, or what values are, as a histogram", printHistogram},
		{"functrace", nil, "each call of kernel functions, a line for each", traceCalls},
		{"funcgraph", nil, "what a kernel function calls, and how long each call takes", traceGraph},
		{"funcslower", nil, "the calls of a kernel function that take long", traceSlower},
		{"stack", nil, "what the threads of a process wait for, and the stacks that led there", printStacks},
		{"list", nil, "the events that can be traced, counted and sampled", listEvents},
		{"check", nil, "what this kernel offers, and what ringtap uses instead where it does not", check},
		{"reset", nil, "remove what ringtaps that were killed have left in tracefs", reset},
		{"version", nil, "the version of this binary", version},
	}...)
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

// choose picks the command that the first argument names and returns it with
// its own arguments.
func choose(args []string) (*command, []string, error) {
	if len(args) == 0 {
		return nil, nil, usagef("no command given: one of %s", strings.Join(commandNames(), ", "))
	}
	switch args[0] {
	case "-h", "--help", "help":
		if len(args) > 1 && args[0] == "help" {
			return choose([]string{args[1], "--help"})
		}
		return &command{name: "help", run: help}, nil, nil
	case "--version":
		args = []string{"version"}
	}
	if cmd := find(args[0]); cmd != nil {
		return cmd, args[1:], nil
	}
	if near := nearest(args[0], commandNames()); near != "" {
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

func help(_ context.Context, out *console, _ []string) error {
	var text strings.Builder
	text.WriteString("ringtap shows what a live Linux host is doing, without bpf(2).\n\nUsage: ringtap COMMAND [flags] [arguments]\n\nCommands:\n")
	for _, cmd := range commands() {
		fmt.Fprintf(&text, "  %-10s %s\n", cmd.name, cmd.summary)
	}
	text.WriteString("\n'ringtap COMMAND --help' lists the flags of a command.\nExit codes: 0 done, 1 failed, 2 wrong usage; a started command's own status if it fails.\n")
	_, err := fmt.Fprint(out.stdout, text.String())
	return err
}

// release is the version that the Makefile builds in.
var release string

func version(_ context.Context, out *console, args []string) error {
	if len(args) > 0 {
		return usagef("version takes no arguments")
	}
	number := release
	if info, ok := debug.ReadBuildInfo(); number == "" && ok {
		number = info.Main.Version
	}
	_, err := fmt.Fprintln(out.stdout, "ringtap", number)
	return err
}

// mostNear is how many names are offered instead of a wrong one.
const mostNear = 3

// nearest returns the candidates that differ from word by the fewest edits, at most
// mostNear of them, joined by "or"; "" if none is near enough to be what was meant.
func nearest(word string, candidates []string) string {
	for edits := range len(word)/2 + 1 {
		near := names.NewNearest(word, edits, mostNear, nil)
		for _, candidate := range candidates {
			near.Add(candidate)
		}
		if best := near.Names(); best != nil {
			return strings.Join(best, " or ")
		}
	}
	return ""
}
