package main

import (
	"context"
	"fmt"
	"strings"

	"github.com/spf13/pflag"

	"github.com/ringtap/ringtap/internal/cli/manual"
	"github.com/ringtap/ringtap/internal/cli/usage"
)

const completionUsage = `completion {bash|zsh|fish}

Print the script that makes a shell complete ringtap's commands and options.

  ringtap completion bash > /etc/bash_completion.d/ringtap            bash
  ringtap completion zsh > /usr/local/share/zsh/site-functions/_ringtap
  ringtap completion fish > ~/.config/fish/completions/ringtap.fish   fish

source <(ringtap completion bash) completes in the current bash alone.
`

func completion(ctx context.Context, out *console, args []string) error {
	flags := newFlags(out, "completion", completionUsage)
	if err := parse(flags, args); err != nil {
		return err
	}
	if flags.NArg() != 1 {
		return usagef("give one shell: %s", strings.Join(manual.Shells(), ", "))
	}
	program, _, err := describe(ctx)
	if err != nil {
		return err
	}
	script, err := program.Completion(flags.Arg(0))
	if err != nil {
		return &usage.Error{Err: err}
	}
	_, err = fmt.Fprint(out.stdout, script)
	return ignoreClosedPipe(err)
}

// describe runs every command with --help to collect its page. It returns the
// documentation of ringtap, and the flags of each command by its name.
func describe(ctx context.Context) (*manual.Program, map[string]*pflag.FlagSet, error) {
	program := &manual.Program{Name: "ringtap", Summary: "profiles, probes and stacks of a live Linux host, without bpf(2)"}
	all := make(map[string]*pflag.FlagSet)
	for _, cmd := range commands() {
		out := &console{page: func(p *manual.Page, flags *pflag.FlagSet) {
			program.Pages = append(program.Pages, *p)
			all[p.Name] = flags
		}}
		if err := cmd.run(ctx, out, []string{"--help"}); err != pflag.ErrHelp {
			return nil, nil, fmt.Errorf("help of %s: %v", cmd.name, err)
		}
	}
	text := func(words string) []manual.Paragraph { return []manual.Paragraph{{Text: words}} }
	program.Common = []manual.Section{
		{Title: "Exit status", Text: text("0 if the run is done, 1 if it failed, 2 for wrong usage. If ringtap ran a command that failed, its exit status.")},
		{Title: "Privileges", Text: text("An ordinary user can profile his own processes. The whole system, probes and tracepoints need root or CAP_PERFMON. ringtap check shows what works.")},
		{Title: "Environment", Text: text("NO_COLOR turns colors off, and so does TERM=dumb.")},
	}
	return program, all, nil
}
