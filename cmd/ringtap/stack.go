package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"slices"
	"strconv"
	"syscall"

	"github.com/ringtap/ringtap/internal/escape"
	"github.com/ringtap/ringtap/internal/manual"
	"github.com/ringtap/ringtap/internal/process"
	"github.com/ringtap/ringtap/internal/snapshot"
)

const stackUsage = `stack [options] PID|NAME...

Show what the threads of processes wait for, for how long, and the stacks that led there,
kernel and user. The processes are not stopped and do not notice. Threads at the same
place appear together, the largest group first.

  ringtap stack 4242                       a process
  ringtap stack --deadlock nginx           all processes called nginx, and who holds their locks
  ringtap stack --watch 1 4242             again every second: which threads have not moved?
  ringtap stack -g a1b2c3 1                process 1 of a container

With -g a number is a process id as the processes in the group see it; without a number,
all processes of the group are shown.

ringtap finds user stacks without the registers of a waiting thread: from where it waits
by unwind tables and, where a function keeps its frame in an unknown register, by the one
place on the stack that a call from there leads to. It samples a running thread once. It
also shows the goroutines of a Go program (1.18 and later, stripped or not), with their
states and reasons.
`

// stackFlags are the flags of stack.
type stackFlags struct {
	args                     []string // processes by id or name
	all, tree, json, verbose bool
	cgroup                   string
	watch                    secondsFlag
	options                  snapshot.Options
}

func printStacks(ctx context.Context, out *console, args []string) error {
	var f stackFlags
	flags := newFlags(out, "stack", stackUsage)
	var named []string
	addPIDs(flags, &named, ", as arguments do")
	addCgroup(flags, &f.cgroup)
	addTree(flags, &f.tree)
	manual.SetGroup(flags, targetGroup)
	flags.Var(&f.watch, "watch", "look again every `SECONDS`, and show in full only what has moved")
	manual.SetGroup(flags, whenGroup)
	flags.BoolVar(&f.options.Locks, "deadlock", false, "show who holds the lock or file lock that a thread waits for, and which threads wait for each other")
	flags.BoolVar(&f.options.Stop, "stop", false, "stop each process for a moment: running threads are exact, and all stacks are of one moment; system calls in progress may be interrupted")
	flags.BoolVar(&f.options.Lines, "lines", true, "show source lines and inlined functions; --lines=false is faster")
	manual.SetGroup(flags, whatGroup)
	flags.BoolVarP(&f.all, "all", "a", false, "show each thread by itself")
	addJSON(flags, &f.json, ", an object a line for each process")
	addVerbose(flags, &f.verbose, "v")
	manual.SetGroup(flags, outputGroup)
	if err := parse(flags, args); err != nil {
		return err
	}
	args = append(flags.Args(), named...)
	if len(args) == 0 && f.cgroup == "" {
		return usagef("give the id or the name of a process")
	}
	f.args = f.owners(out, args)
	pids, asked, err := f.processes()
	if err != nil {
		return err
	}
	f.options.Logger = out.logger(f.verbose)
	taker := snapshot.New(f.options)
	defer taker.Close()
	looks := stackLooks{stackFlags: &f, out: out, taker: taker, pids: pids, asked: asked, still: make(map[int]snapshot.Still), told: make(map[string]bool)}
	err = looks.run(ctx)
	if errors.Is(err, syscall.EPIPE) {
		return nil // what reads us has seen enough
	}
	return err
}

// owners has processes in the place of numbers that are those of threads.
func (f *stackFlags) owners(out *console, args []string) (owners []string) {
	var host process.Host
	for _, arg := range args {
		if tid, err := strconv.Atoi(arg); err == nil && f.cgroup == "" {
			if status, err := host.Status(tid); err == nil && status.TGID != tid {
				fmt.Fprintf(out.stderr, "note: %d is a thread; showing its process %d %s\n", tid, status.TGID, escape.Text(host.Comm(status.TGID)))
				arg = strconv.Itoa(status.TGID)
			}
		}
		owners = append(owners, arg)
	}
	return owners
}

// processes finds the processes that the arguments name, and which of them are there by
// their numbers. By name or as a child ringtap itself is not among them.
func (f *stackFlags) processes() (pids []int, asked map[int]bool, err error) {
	all, err := process.Host{}.Processes()
	if err != nil {
		return nil, nil, err
	}
	among := all
	if f.cgroup != "" {
		if among, err = processesIn(f.cgroup); err != nil {
			return nil, nil, err
		}
	}
	isOwn := func(pid int) bool { return pid == os.Getpid() }
	all, among = slices.DeleteFunc(slices.Clone(all), isOwn), slices.DeleteFunc(among, isOwn)
	if len(f.args) == 0 {
		pids = among
	}
	asked = make(map[int]bool)
	for _, arg := range f.args {
		found, err := f.process(among, arg)
		if err != nil {
			return nil, nil, err
		}
		for _, pid := range found {
			if !slices.Contains(pids, pid) {
				pids = append(pids, pid)
			}
			asked[pid] = asked[pid] || arg == strconv.Itoa(pid)
		}
	}
	if f.tree {
		pids = snapshot.WithChildren(process.Host{}, all, pids)
	}
	return pids, asked, nil
}

// process finds what one argument names among processes.
func (f *stackFlags) process(among []int, arg string) ([]int, error) {
	pid, err := strconv.Atoi(arg)
	switch {
	case err == nil && pid <= 0:
		return nil, usagef("%q is not a process id", arg)
	case err == nil && f.cgroup == "":
		return []int{pid}, nil
	case err == nil:
		if found := snapshot.InNamespace(process.Host{}, among, pid); len(found) > 0 {
			return found, nil
		}
		return nil, fmt.Errorf("no process in %s has number %d there", f.cgroup, pid)
	}
	if found := snapshot.Named(process.Host{}, among, arg); len(found) > 0 {
		return found, nil
	}
	return nil, fmt.Errorf("no process has the name %q", arg)
}
