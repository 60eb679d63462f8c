package main

import (
	"bytes"
	"fmt"
	"io"
	"os"
	"os/exec"
	"runtime"
	"slices"
	"strings"
	"sync"
	"time"

	"golang.org/x/sys/unix"

	"github.com/ringtap/ringtap/ftrace"
	"github.com/ringtap/ringtap/scripts/results"
)

// tier is one kind of test and the go command that runs it and prints its
// events; the packages follow.
type tier struct {
	name    string
	command []string
	live    bool // needs the kernel's tracing
	guest   bool // runs in a guest, on one CPU
	asked   bool // runs only when it is named
}

var tiers = []tier{
	{name: "unit", command: goTest("-skip=^Test(Live|Peer)")},
	{name: "live", command: goTest("-run=^TestLive", "-p=1"), live: true},
	{name: "peer", command: goTest("-run=^TestPeer", "-p=1"), live: true},
	{name: "vm-6.1", command: inVM("6.1"), guest: true},
	{name: "vm-nobpf", command: inVM("nobpf"), guest: true},
	{name: "vm-arm64", command: inVM("arm64"), guest: true, asked: true},
}

func goTest(flags ...string) []string {
	return append([]string{"test", "-json", "-count=1", "-timeout=20m"}, flags...)
}

func inVM(kernel string) []string {
	return []string{"run", "./scripts/vmrun", "--kernel=" + kernel, "--test", "--json"}
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

// choose returns the tiers of those names; for no name all but those that must be
// asked for. vm is those of all kernels.
func choose(names []string) ([]tier, error) {
	var chosen []tier
	if len(names) == 0 {
		return slices.DeleteFunc(slices.Clone(tiers), func(t tier) bool { return t.asked }), nil
	}
	for _, name := range names {
		before := len(chosen)
		for _, t := range tiers {
			if t.name == name || name == "vm" && strings.HasPrefix(t.name, "vm-") {
				chosen = append(chosen, t)
			}
		}
		if len(chosen) == before {
			return nil, fmt.Errorf("no tier is named %q; there are unit, live, peer, and vm with vm-6.1, vm-nobpf and vm-arm64", name)
		}
	}
	return chosen, nil
}

// runAll runs the tiers over the packages, writes what they did, and tells
// whether all is well.
func runAll(w io.Writer, chosen []tier, packages ...string) bool {
	ok := true
	var total results.Results
	for len(chosen) > 0 {
		n := 1
		for chosen[0].guest && n < len(chosen) && chosen[n].guest {
			n++
		}
		for _, o := range runTogether(w, chosen[:n], packages) {
			ok = ok && o.ok
			total.Passed += o.results.Passed
			total.Failed += o.results.Failed
			total.Skipped += o.results.Skipped
		}
		chosen = chosen[n:]
	}
	fmt.Fprintf(w, "%d passed, %d failed, %d skipped\n", total.Passed, total.Failed, total.Skipped)
	return ok
}

// outcome is what a tier did.
type outcome struct {
	results *results.Results
	ok      bool
}

// runTogether runs tiers at the same time, one for each CPU, and writes their
// output in their order.
func runTogether(w io.Writer, chosen []tier, packages []string) []outcome {
	outcomes := make([]outcome, len(chosen))
	if len(chosen) == 1 {
		outcomes[0] = chosen[0].report(w, packages)
		return outcomes
	}
	texts := make([]turn, len(chosen))
	ended := make([]chan struct{}, len(chosen))
	cpus := make(chan struct{}, runtime.NumCPU())
	for i, t := range chosen {
		ended[i] = make(chan struct{})
		go func() {
			defer close(ended[i])
			cpus <- struct{}{}
			defer func() { <-cpus }()
			outcomes[i] = t.report(&texts[i], packages)
		}()
	}
	for i := range chosen {
		texts[i].begin(w)
		<-ended[i]
	}
	return outcomes
}

// turn keeps what a tier and its command write until it is their turn.
type turn struct {
	mu   sync.Mutex
	text bytes.Buffer
	to   io.Writer // nil until then
}

func (t *turn) Write(p []byte) (int, error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.to != nil {
		return t.to.Write(p)
	}
	return t.text.Write(p)
}

func (t *turn) begin(w io.Writer) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.text.WriteTo(w)
	t.to = w
}

// report runs one tier and writes what it did.
func (t tier) report(w io.Writer, packages []string) outcome {
	start := time.Now()
	fmt.Fprintf(w, "== %s tier\n", t.name)
	r, err := t.run(w, packages)
	r.Summarize(w, t.name)
	switch {
	case err != nil:
		fmt.Fprintf(w, "%s: %v\n", t.name, err)
	case r.Failed == 0 && r.Passed == 0:
		fmt.Fprintf(w, "%s: ran nothing\n", t.name)
	}
	fmt.Fprintf(w, "%s: took %s\n", t.name, time.Since(start).Round(time.Second))
	return outcome{r, err == nil && r.Failed == 0 && r.Passed > 0}
}

// run runs one tier. The error is that of go test itself where no test of its
// output failed.
func (t tier) run(w io.Writer, packages []string) (*results.Results, error) {
	if t.live {
		defer mountTracefs(w)()
	}
	cmd := exec.Command("go", append(slices.Clone(t.command), packages...)...)
	cmd.Stderr = w
	r := results.New(w)
	output, err := cmd.StdoutPipe()
	if err != nil {
		return r, err
	}
	if err := cmd.Start(); err != nil {
		return r, err
	}
	readErr := r.Read(output)
	err = cmd.Wait()
	if readErr != nil {
		return r, readErr
	}
	if err != nil && r.Failed == 0 {
		return r, fmt.Errorf("go %s: %w", strings.Join(cmd.Args[1:], " "), err)
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
