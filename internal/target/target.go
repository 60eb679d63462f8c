// Package target finds what a command line names to be watched: processes by number or
// name, their descendants, a control group.
//
//	-p NAME, --tree, -g GROUP → Target.Find → Roots, PIDs, Cgroup → Watched → perfevent
//	PID|NAME...               → Search.Find → processes to look at
package target

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"github.com/ringtap/ringtap/internal/cgroup"
	"github.com/ringtap/ringtap/internal/escape"
	"github.com/ringtap/ringtap/internal/names"
	"github.com/ringtap/ringtap/internal/process"
	"github.com/ringtap/ringtap/internal/usage"
	"github.com/ringtap/ringtap/perfevent"
)

// Target is what is watched: processes, a thread, a control group or a command, of which
// one at most is named, or else the whole system.
type Target struct {
	Tree    bool     // the descendants that the processes already have, too
	TID     int      // a thread
	Cgroup  string   // a control group: its name, and after Find its directory
	Command []string // to be run, with its arguments

	Roots []int // the processes that were named; nil without names. See Find.
	PIDs  []int // these, and with Tree the descendants that they had then
}

// Find looks up the processes in named, each a process id or a name, and the control group.
// It refuses the caller's own process, which no run includes. A malformed id is a
// *usage.Error, and a name that no process has is a *NoNameError.
func (t *Target) Find(host process.Host, named []string) error {
	if err := refuseOwn(t.TID); err != nil {
		return err
	}
	if t.Cgroup != "" {
		dir, err := cgroup.Find(t.Cgroup)
		if err != nil {
			return fmt.Errorf("-g %s: %w", t.Cgroup, err)
		}
		t.Cgroup = dir
	}
	if len(named) == 0 {
		return nil
	}
	all, err := others(host)
	if err != nil {
		return err
	}
	for _, name := range named {
		found, err := lookup(host, all, name)
		switch {
		case errors.As(err, new(*NoNameError)):
			return fmt.Errorf("-p: %w", err)
		case err != nil:
			return usage.Errorf("-p %s %w", name, err)
		}
		for _, pid := range found {
			if err := refuseOwn(pid); err != nil {
				return err
			}
			t.Roots = appendNew(t.Roots, pid)
		}
	}
	t.PIDs = t.Roots
	if t.Tree {
		t.PIDs = host.WithChildren(all, t.Roots)
	}
	return nil
}

// refuseOwn refuses the caller's own process. "exec ringtap -p $$" asks for that.
func refuseOwn(id int) error {
	if own := os.Getpid(); id == own {
		return usage.Errorf("process %d is this ringtap, which leaves itself out", own)
	}
	return nil
}

// Whole tells that nothing narrows what is watched.
func (t *Target) Whole() bool {
	return t.Command == nil && t.PIDs == nil && t.TID == 0 && t.Cgroup == ""
}

// Watched is the target as events have it, but for a command, which must be started.
func (t *Target) Watched() perfevent.Target {
	switch {
	case t.PIDs != nil && t.Tree:
		return perfevent.ProcessTree(t.Roots...)
	case t.PIDs != nil:
		return perfevent.Process(t.PIDs...)
	case t.TID != 0:
		return perfevent.Thread(t.TID)
	case t.Cgroup != "":
		return perfevent.InCgroup(t.Cgroup)
	}
	return perfevent.System()
}

// Note says which children of the processes are not watched, "" if all are.
func (t *Target) Note(host process.Host) string {
	if len(t.Roots) == 0 || t.Tree {
		return ""
	}
	all, err := others(host)
	if err != nil {
		return ""
	}
	switch n := len(host.WithChildren(all, t.Roots)) - len(t.Roots); n {
	case 0:
		return ""
	case 1:
		return fmt.Sprintf("1 existing child of %s is not watched; --tree watches it", Join(t.Roots))
	default:
		return fmt.Sprintf("%d existing children of %s are not watched; --tree watches them", n, Join(t.Roots))
	}
}

// Join is a list of numbers: "1,2".
func Join(numbers []int) string {
	return strings.ReplaceAll(strings.Trim(fmt.Sprint(numbers), "[]"), " ", ",")
}

// others are the processes but the caller's own.
func others(host process.Host) ([]int, error) {
	all, err := host.Processes()
	return slices.DeleteFunc(all, func(pid int) bool { return pid == os.Getpid() }), err
}

var errNotID = errors.New("is not a process id")

// NoNameError is returned when no process has a name.
type NoNameError struct {
	Name string
	Near []string // names of running processes that resemble it, the closest first
	// Runs are processes that have a file of that name as an argument, by their ids and
	// command lines: "4242 (python3 report.py)".
	Runs []string
}

func (e *NoNameError) Error() string {
	text := fmt.Sprintf("no process is named %q", e.Name)
	switch {
	case len(e.Runs) > 0:
		text += "; " + names.DidYouMean(e.Runs)
	case len(e.Near) > 0:
		text += "; " + names.DidYouMean(e.Near)
	}
	return escape.Text(text)
}

// lookup finds the process of a number, there or not, or all that have a name.
func lookup(host process.Host, among []int, name string) ([]int, error) {
	pid, err := strconv.Atoi(name)
	switch {
	case err == nil && pid > 0:
		return []int{pid}, nil
	case name == "":
		return nil, errors.New("names no process")
	case strings.Trim(name, "+-0123456789") == "":
		return nil, errNotID
	}
	if found := host.Named(among, name); len(found) > 0 {
		return found, nil
	}
	var running []string
	for _, pid := range among {
		if comm := host.Comm(pid); !slices.Contains(running, comm) {
			running = append(running, comm)
		}
	}
	return nil, &NoNameError{Name: name, Near: names.Near(name, running), Runs: runs(host, among, name)}
}

// runs returns the processes that have a file as an argument, as an interpreter has the program
// that it runs; at most a few.
func runs(host process.Host, among []int, file string) (found []string) {
	const most, longest = 3, 60
	for _, pid := range among {
		text, err := host.Read(pid, "cmdline")
		if err != nil {
			continue // it has ended
		}
		args := strings.Split(strings.TrimSuffix(string(text), "\x00"), "\x00")
		if !slices.ContainsFunc(args[1:], func(arg string) bool { return arg == file || filepath.Base(arg) == file }) {
			continue
		}
		args[0] = filepath.Base(args[0])
		line := []rune(strings.Join(args, " "))
		if len(line) > longest {
			line = append(line[:longest], '…')
		}
		if found = append(found, fmt.Sprintf("%d (%s)", pid, string(line))); len(found) == most {
			break
		}
	}
	return found
}

func appendNew(pids []int, pid int) []int {
	if slices.Contains(pids, pid) {
		return pids
	}
	return append(pids, pid)
}
