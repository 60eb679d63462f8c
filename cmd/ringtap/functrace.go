package main

import (
	"context"

	"github.com/ringtap/ringtap/internal/functrace"
)

const functraceUsage = `functrace [flags] FUNCTION...

Prints each call of kernel functions: the thread, the CPU, the time, the function
and its caller. FUNCTION may be a pattern, MODULE:PATTERN functions of a module.

  ringtap functrace do_nanosleep           who sleeps
  ringtap functrace '*sleep'               functions whose names end in sleep
  ringtap functrace -p 198 'vfs_*'         of one process
  ringtap functrace -s tcp_retransmit_skb  with the stack of each call
  ringtap functrace -d 1 'tcp_*' > out     for one second, written at its end
`

func traceCalls(ctx context.Context, out *console, args []string) error {
	var f funcFlags
	flags := newFlags(out, "functrace", functraceUsage)
	f.add(flags)
	stacks := flags.BoolP("stacks", "s", false, "print the kernel stack of each call")
	if err := parse(flags, args); err != nil {
		return err
	}
	if flags.NArg() == 0 {
		return usagef("no function given, such as vfs_read")
	}
	if err := f.check(flags); err != nil {
		return err
	}
	o := f.options(functrace.Calls, flags.Args())
	o.Stacks = *stacks
	return f.traceFunctions(ctx, out, o, f.greeting(flags.Args(), ""))
}
