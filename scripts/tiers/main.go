package main

import (
	"fmt"
	"io"
	"os"
	"os/exec"
	"slices"
	"strings"

	"golang.org/x/sys/unix"

	"github.com/ringtap/ringtap/ftrace"
)

// tier is one kind of test and the go test flags that choose it.
type tier struct {
	name  string
	flags []string
	live  bool // needs the kernel's tracing
}

var tiers = []tier{
	{name: "unit", flags: []string{"-skip=^Test(Live|Peer)"}},
	{name: "live", flags: []string{"-run=^TestLive", "-p=1"}, live: true},
	{name: "peer", flags: []string{"-run=^TestPeer", "-p=1"}, live: true},
}

func main() {
	chosen, err := choose(os.Args[1:])
	if err != nil {
		fmt.Fprintln(os.Stderr, "tiers:", err)
		os.Exit(2)
	}
	if !runAll(os.Stdout, chosen, "./...") {
		os.Exit(1)
	}
}

// choose returns the tiers of those names, all of them for no name.
func choose(names []string) ([]tier, error) {
	if len(names) == 0 {
		return tiers, nil
	}
	var chosen []tier
	for _, name := range names {
		i := slices.IndexFunc(tiers, func(t tier) bool { return t.name == name })
		if i < 0 {
			return nil, fmt.Errorf("no tier is named %q; there are unit, live and peer", name)
		}
		chosen = append(chosen, tiers[i])
	}
	return chosen, nil
}

// runAll runs the tiers over the packages, writes what they did, and tells
// whether all is well.
func runAll(w io.Writer, chosen []tier, packages ...string) bool {
	ok := true
	var total results
	for _, t := range chosen {
		r, err := t.run(w, packages)
		r.summarize(w, t.name)
		switch {
		case err != nil:
			fmt.Fprintf(w, "%s: %v\n", t.name, err)
			ok = false
		case r.failed > 0:
			ok = false
		case r.passed == 0:
			fmt.Fprintf(w, "%s: ran nothing\n", t.name)
			ok = false
		}
		total.passed += r.passed
		total.failed += r.failed
		total.skipped += r.skipped
	}
	fmt.Fprintf(w, "%d passed, %d failed, %d skipped\n", total.passed, total.failed, total.skipped)
	return ok
}

// run runs one tier. The error is that of go test itself where no test of its
// output failed.
func (t tier) run(w io.Writer, packages []string) (*results, error) {
	fmt.Fprintf(w, "== %s tier\n", t.name)
	if t.live {
		defer mountTracefs(w)()
	}
	args := append([]string{"test", "-json", "-count=1", "-timeout=20m"}, t.flags...)
	cmd := exec.Command("go", append(args, packages...)...)
	cmd.Stderr = w
	r := newResults(w)
	output, err := cmd.StdoutPipe()
	if err != nil {
		return r, err
	}
	if err := cmd.Start(); err != nil {
		return r, err
	}
	readErr := r.read(output)
	err = cmd.Wait()
	if readErr != nil {
		return r, readErr
	}
	if err != nil && r.failed == 0 {
		return r, fmt.Errorf("go %s: %w", strings.Join(args, " "), err)
	}
	return r, nil
}

// mountTracefs mounts tracefs where root finds none, and returns what undoes
// that. Tests that need it skip where it cannot be mounted.
func mountTracefs(w io.Writer) (undo func()) {
	if os.Geteuid() != 0 {
		return func() {}
	}
	tracefs, mounted, err := ftrace.Mount()
	if err != nil {
		fmt.Fprintln(w, err)
	}
	if !mounted {
		return func() {}
	}
	return func() {
		if err := unix.Unmount(tracefs.Dir(), 0); err != nil {
			fmt.Fprintf(w, "unmount %s: %v\n", tracefs.Dir(), err)
		}
	}
}
