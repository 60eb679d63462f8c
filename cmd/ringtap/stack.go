package main

import (
	"context"
	"time"

	"github.com/ringtap/ringtap/internal/cli/manual"
	"github.com/ringtap/ringtap/internal/snapshot/look"
)

const stackUsage = `stack [options] PID|NAME...

Show what the threads of processes wait for, for how long, and the stacks that led there,
kernel and user. The processes are not stopped and do not notice. Threads at the same
place appear together, the largest group first.

  ringtap stack 4242                       a process
  ringtap stack --deadlock nginx           why does nginx hang: who waits for whose lock?
  ringtap stack --watch 1 4242             again every second: which threads have not moved?
  ringtap stack -g a1b2c3 1                process 1 of a container

With -g a number is a process id as the processes in the group see it; without a number,
all processes of the group are shown.

--deadlock ends with a sentence for each deadlock, and for the six locks that most threads wait
for: who waits, who holds the lock, and what the holder waits for. It knows the mutexes, rwlocks and joins of glibc, file locks, and Go's
mutexes and channels. Go's mutexes, Python's locks and Java's monitors do not say who holds
them. Above that are the stacks of a deadlock's threads or, without a deadlock, of all that wait
for locks and of those that hold them.

On a terminal, stacks that do not fit the screen are followed by a line for each place.

ringtap finds user stacks without the registers of a waiting thread: from where it waits
by unwind tables and, where a function keeps its frame in an unknown register, by the one
place on the stack that a call from there leads to. It samples a running thread once. It
also shows the goroutines of a Go program (1.18 and later, stripped or not), with their
states and reasons.
`

func printStacks(ctx context.Context, out *console, args []string) error {
	o := look.Options{Out: out.stdout, Width: out.width, Height: out.height, Note: out.note}
	flags := newFlags(out, "stack", stackUsage)
	var named []string
	var every secondsFlag
	var verbose bool
	addPIDs(flags, &named, ", as arguments do")
	addCgroup(flags, &o.Search.Cgroup, "g")
	addTree(flags, &o.Search.Tree)
	manual.SetGroup(flags, targetGroup)
	flags.Var(&every, "watch", "look again every `SECONDS`, and show in full only what has moved")
	manual.SetGroup(flags, whenGroup)
	flags.BoolVar(&o.Threads.Locks, "deadlock", false, "say at the end which threads and goroutines wait for which lock, who holds it and what the holder waits for; show only their stacks, in brief (--all: all stacks)")
	flags.BoolVar(&o.Threads.Stop, "stop", false, "stop each process for a moment: running threads are exact, and all stacks are of one moment; system calls in progress may be interrupted")
	flags.BoolVar(&o.Threads.Lines, "lines", true, "show source lines and inlined functions; --lines=false is faster")
	manual.SetGroup(flags, whatGroup)
	flags.BoolVarP(&o.All, "all", "a", false, "show all: each thread and goroutine separately, also those that are left out otherwise")
	addJSON(flags, &o.JSON, ", an object a line for each process")
	addVerbose(flags, &verbose, "v")
	manual.SetGroup(flags, outputGroup)
	if err := parse(flags, args); err != nil {
		return err
	}
	o.Search.Names = append(flags.Args(), named...)
	if len(o.Search.Names) == 0 && o.Search.Cgroup == "" {
		return usagef("give the id or the name of a process")
	}
	o.Every, o.Threads.Logger = time.Duration(every), out.logger(verbose)
	return ignoreClosedPipe(look.Run(ctx, o))
}
