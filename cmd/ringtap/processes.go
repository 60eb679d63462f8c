package main

import (
	"fmt"
	"os"
	"slices"
	"strconv"
	"strings"

	"github.com/spf13/pflag"

	"github.com/ringtap/ringtap/internal/escape"
	"github.com/ringtap/ringtap/internal/process"
	"github.com/ringtap/ringtap/internal/snapshot"
	"github.com/ringtap/ringtap/perfevent"
)

// processFlags are -p and --tree: the processes that are watched.
type processFlags struct {
	named []string // by -p
	tree  bool

	roots []int // the processes that -p names, once found; nil without -p
	pids  []int // these, and with --tree the descendants that they had then
}

// add defines the flags.
func (p *processFlags) add(flags *pflag.FlagSet) {
	addPIDs(flags, &p.named, ": their threads, and the children that they start from now on")
	addTree(flags, &p.tree)
}

// find finds the processes that -p names. Numbers that can't be are usageErrors.
func (p *processFlags) find(flags *pflag.FlagSet) error {
	if !flags.Changed("pid") {
		if p.tree {
			return usagef("--tree goes with -p: without a process all are watched")
		}
		return nil
	}
	var host process.Host
	all, err := host.Processes()
	if err != nil {
		return err
	}
	all = slices.DeleteFunc(all, func(pid int) bool { return pid == os.Getpid() })
	for _, name := range p.named {
		found, err := findProcess(host, all, name)
		if err != nil {
			return err
		}
		for _, pid := range found {
			if err := refuseOwn(pid, 0); err != nil {
				return err
			}
			if !slices.Contains(p.roots, pid) {
				p.roots = append(p.roots, pid)
			}
		}
	}
	if len(p.roots) == 0 {
		return usagef("-p names no process")
	}
	p.pids = p.roots
	if p.tree {
		p.pids = snapshot.WithChildren(host, all, p.roots)
	}
	return nil
}

// findProcess finds what one argument of -p names: a process by its number, or all that
// have a name.
func findProcess(host process.Host, all []int, name string) ([]int, error) {
	pid, err := strconv.Atoi(name)
	switch {
	case err == nil && pid > 0:
		return []int{pid}, nil
	case name == "":
		return nil, usagef("-p names no process")
	case strings.Trim(name, "+-0123456789") == "":
		return nil, usagef("-p %s is not a process id", name)
	}
	found := snapshot.Named(host, all, name)
	if len(found) == 0 {
		return nil, fmt.Errorf("-p %s: no process has that name", escape.Text(name))
	}
	return found, nil
}

// target is the processes as what is watched.
func (p *processFlags) target() perfevent.Target {
	if p.tree {
		return perfevent.ProcessTree(p.roots...)
	}
	return perfevent.Process(p.pids...)
}

// sayChildren notes the children that are not watched.
func (p *processFlags) sayChildren(out *console) {
	if len(p.roots) == 0 || p.tree {
		return
	}
	var host process.Host
	all, err := host.Processes()
	if err != nil {
		return
	}
	all = slices.DeleteFunc(all, func(pid int) bool { return pid == os.Getpid() })
	n := len(snapshot.WithChildren(host, all, p.roots)) - len(p.roots)
	switch {
	case n == 1:
		fmt.Fprintf(out.stderr, "note: 1 existing child of %s is not watched; --tree watches it\n", joined(p.roots))
	case n > 1:
		fmt.Fprintf(out.stderr, "note: %d existing children of %s are not watched; --tree watches them\n", n, joined(p.roots))
	}
}

// joined is a list of numbers: "1,2".
func joined(numbers []int) string {
	var text []string
	for _, n := range numbers {
		text = append(text, strconv.Itoa(n))
	}
	return strings.Join(text, ",")
}
