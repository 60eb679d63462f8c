package main

import (
	"context"

	"github.com/ringtap/ringtap/internal/cli/manual"
	"github.com/ringtap/ringtap/internal/trace/functrace"
)

const functraceUsage = `functrace [options] FUNCTION...

Print each call of kernel functions: the thread, the CPU, the time, the function and its
caller. FUNCTION may be a pattern; MODULE:PATTERN means functions of a module.

  ringtap functrace do_nanosleep           who sleeps
  ringtap functrace '*sleep'               functions whose names end in sleep
  ringtap functrace -p 198 'vfs_*'         one process
  ringtap functrace -s tcp_retransmit_skb  with the stack of each call
  ringtap functrace -d 1 'tcp_*' > out     for one second, written at the end
`

func traceCalls(ctx context.Context, out *console, args []string) error {
	var f funcFlags
	flags := newFlags(out, "functrace", functraceUsage)
	f.add(flags)
	var stacks bool
	addStacks(flags, &stacks, ": the kernel stack")
	manual.SetGroup(flags, whatGroup)
	if err := parse(flags, args); err != nil {
		return err
	}
	if flags.NArg() == 0 {
		return usagef("give a function, such as vfs_read")
	}
	if err := f.check(flags); err != nil {
		return err
	}
	o := f.options(functrace.Calls, flags.Args())
	o.Stacks = stacks
	return f.traceFunctions(ctx, out, o, f.greeting(flags.Args(), ""))
}
