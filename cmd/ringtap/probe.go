package main

import (
	"context"
	"strings"

	"github.com/ringtap/ringtap/internal/collect"
	"github.com/ringtap/ringtap/uprobe"
)

const probeUsage = `probe [flags] SPEC [-- COMMAND ARG...]

Counts the hits of a user probe per call stack. SPEC is [p:|r:]TARGET:FUNCTION, or
what uprobe takes.

  ringtap probe -d 5 libc:malloc                   who allocates, on the whole host
  ringtap probe -u libc:malloc -- ./prog           a command from beginning to end
  ringtap probe -p 4242 --out m.html libc:malloc   as a flame graph
`

func probe(ctx context.Context, out *console, args []string) error {
	var common collectorFlags
	flags := newFlags(out, "probe", probeUsage)
	common.add(flags)
	exact := flags.Bool("exact", false, "place probes at the very addresses named, though the kernel may have to single-step there")
	limit := flags.Int("limit", 1000, "the most places that a pattern may stand for")
	if err := parse(flags, args); err != nil {
		return err
	}
	if flags.NArg() == 0 || flags.ArgsLenAtDash() == 0 {
		return usagef("no probe given, such as libc:malloc")
	}
	spec := flags.Arg(0)
	if err := common.validate(flags, flags.Args()[1:]); err != nil {
		return err
	}
	if *limit < 1 {
		return usagef("--limit %d: at least one place", *limit)
	}
	logger := out.logger(common.verbose)
	plan, err := resolve(out, userProbe(spec), uprobe.Options{PID: common.pid, Exact: *exact, MaxSites: *limit, Logger: logger})
	if err != nil {
		return err
	}
	defer plan.Close()
	target, command, err := common.target()
	if err != nil {
		return err
	}
	defer leave(command)
	// With Few 0: of perf's own events each is one more that every hit calls.
	attachment, err := uprobe.Attach(plan, uprobe.AttachOptions{Target: target, Merge: len(plan.Sites) > manyPlaces, Logger: logger})
	if err != nil {
		return wrongDefinition(err)
	}
	defer closing(out, attachment)
	stacks := common.stacks()
	stacks.Entry = plan.AtEntry()
	return runCollector(ctx, out, &common, target, command, &collect.Hits{Spec: spec, Events: attachment.Events, Stacks: stacks})
}

// userProbe is a spec of stack_analyzer as uprobe takes it: without a kind it is
// an entry probe.
func userProbe(spec string) string {
	for _, kind := range []string{"p:", "r:", "u:"} {
		if strings.HasPrefix(spec, kind) {
			return spec
		}
	}
	return "p:" + spec
}
