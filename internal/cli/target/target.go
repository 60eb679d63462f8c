// Package target finds what a command line asks to watch: processes by PID or name, their
// descendants, or a control group.
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

	"github.com/ringtap/ringtap/internal/cli/usage"
	"github.com/ringtap/ringtap/internal/process"
	"github.com/ringtap/ringtap/internal/process/cgroup"
	"github.com/ringtap/ringtap/internal/text/escape"
	"github.com/ringtap/ringtap/internal/text/match"
	"github.com/ringtap/ringtap/perfevent"
)

// Target is what a run watches: processes, a thread, a control group or a command. At most one
// of these is set; if none is, the run watches the whole system.
type Target struct {
	Tree    bool     // also the descendants that the processes already have
	TID     int      // a thread; 0 for none
	Cgroup  string   // a control group: its name, and after Find its directory; "" for none
	Command []string // the command to run, with its arguments; nil for none

	Roots []int // the processes that Find was asked for; nil for none
	PIDs  []int // Roots and, with Tree, the descendants that they had when Find ran
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

// Whole reports whether the whole system is watched.
func (t *Target) Whole() bool {
	return t.Command == nil && t.PIDs == nil && t.TID == 0 && t.Cgroup == ""
}

// Watched returns the target for package perfevent. It ignores Command: see launch.Open.
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

// Note returns a note that counts the existing children of the processes that are not watched.
// It returns "" if all are.
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

// Join returns the numbers as a list: "1,2".
func Join(numbers []int) string {
	return strings.ReplaceAll(strings.Trim(fmt.Sprint(numbers), "[]"), " ", ",")
}

// others returns the PIDs of all processes except the calling one.
func others(host process.Host) ([]int, error) {
	all, err := host.Processes()
	return slices.DeleteFunc(all, func(pid int) bool { return pid == os.Getpid() }), err
}

var errNotID = errors.New("is not a process id")

// NoNameError is returned when no process has the name that the user gave.
type NoNameError struct {
	name string
	near []string // names of running processes that resemble it, the closest first
	// runs are processes that have a file of that name as an argument, by their ids and
	// command lines: "4242 (python3 report.py)".
	runs []string
}

func (e *NoNameError) Error() string {
	text := fmt.Sprintf("no process is named %q", e.name)
	switch {
	case len(e.runs) > 0:
		text += "; " + match.DidYouMean(e.runs)
	case len(e.near) > 0:
		text += "; " + match.DidYouMean(e.near)
	}
	return escape.Text(text)
}

// lookup returns the PID that name is, whether the process exists or not, or the processes in
// among that have this name.
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
	return nil, &NoNameError{name: name, near: match.Near(name, running), runs: runs(host, among, name)}
}

// runs returns a few processes that have file as an argument, as an interpreter has the script that
// it runs.
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
