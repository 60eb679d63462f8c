package uprobe

import (
	"context"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/ringtap/ringtap/ftrace"
	"github.com/ringtap/ringtap/ftrace/printfmt"
	"github.com/ringtap/ringtap/internal/testkit/testlimit"
	"github.com/ringtap/ringtap/perfevent"
)

// hit is one sample of an event.
type hit struct {
	site int
	text string // what the trace line has behind the event's name
}

// trace attaches a plan to a command, runs that to its end and returns the hits.
// At the end nothing of the attachment may be left.
func trace(t *testing.T, p *Plan, o AttachOptions, command string, args ...string) []hit {
	t.Helper()
	needRoot(t)
	c, err := perfevent.StartCommand(exec.Command(command, args...))
	if err != nil {
		t.Fatal(err)
	}
	return traceCommand(t, p, o, c)
}

func needRoot(t *testing.T) {
	t.Helper()
	if os.Geteuid() != 0 {
		t.Skip("needs root")
	}
}

// traceCommand is trace for a command that is held already.
func traceCommand(t *testing.T, p *Plan, o AttachOptions, c *perfevent.Command) []hit {
	t.Helper()
	defer c.Kill()
	o.Target = perfevent.Started(c)
	return record(t, p, o, func() {
		state, err := c.Wait()
		if err != nil || !state.Success() {
			t.Errorf("%s: %v, %v", o.Target, state, err)
		}
	})
}

// traceSystem is trace while the whole system is watched, with perf's own events.
// These are exact on one CPU (see fewEvents).
func traceSystem(t *testing.T, p *Plan, o AttachOptions, command string, args ...string) []hit {
	t.Helper()
	needRoot(t)
	o.Target, o.PerSampling = perfevent.System(), 1
	return record(t, p, o, func() {
		if out, err := exec.Command("taskset", append([]string{"1", command}, args...)...).CombinedOutput(); err != nil {
			t.Errorf("%s: %v\n%s", command, err, out)
		}
	})
}

// record collects the hits while run runs.
func record(t *testing.T, p *Plan, o AttachOptions, run func()) []hit {
	t.Helper()
	a, err := Attach(p, o)
	if err != nil {
		t.Fatalf("attach %s: %v", p, err)
	}
	defer leavesNothing(t, a)
	samplings := make([]perfevent.Sampling, len(a.Events))
	printers := make([]*printfmt.Printer, len(a.Events))
	for i := range a.Events {
		samplings[i] = perfevent.Sampling{Event: a.Events[i], Period: 1, Raw: true, Filter: a.Filter}
		if printers[i], err = printfmt.New(a.Formats[i], printfmt.Options{}); err != nil {
			t.Fatal(err)
		}
	}
	s, err := perfevent.Open(o.Target, samplings, perfevent.Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	if err := s.Enable(); err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	go func() {
		defer cancel()
		run()
	}()
	var hits []hit
	err = s.Read(ctx, func(r perfevent.Record) error {
		if sample, ok := r.(*perfevent.Sample); ok {
			hits = append(hits, hit{sample.Sampling, string(printers[sample.Sampling].Append(nil, sample.Raw))})
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	<-ctx.Done()
	accounts, err := s.Accounts()
	if err != nil {
		t.Fatal(err)
	}
	counted := uint64(0)
	for _, account := range accounts {
		counted += account.Counted
	}
	if counted != uint64(len(hits)) {
		t.Errorf("the kernel counted %d hits, %d came", counted, len(hits))
	}
	return hits
}

// leavesNothing closes an attachment and looks for what it leaves behind.
func leavesNothing(t *testing.T, a *Attachment) {
	t.Helper()
	if err := a.Close(); err != nil {
		t.Error(err)
	}
	if a.group != nil {
		noEventsOf(t, a.group.Name())
	}
}

func noEventsOf(t *testing.T, group string) {
	t.Helper()
	tracefs, err := ftrace.Find()
	if err != nil {
		t.Fatal(err)
	}
	text, err := os.ReadFile(tracefs.Dir() + "/uprobe_events")
	if err != nil {
		t.Fatal(err)
	}
	for line := range strings.Lines(string(text)) {
		if strings.Contains(line, ":"+group+"/") {
			t.Errorf("left behind: %s", line)
		}
	}
}

// texts are the distinct texts of hits behind their addresses, sorted.
func texts(hits []hit) []string {
	var out []string
	for _, h := range hits {
		_, args, _ := strings.Cut(h.text, ") ")
		out = append(out, args)
	}
	slices.Sort(out)
	return slices.Compact(out)
}

func TestLiveEveryCallIsAHit(t *testing.T) {
	calls := testlimit.Calls(1000)
	tests := []struct {
		build, target, place string
		hits                 int
	}{
		{"pie", "", "target", calls},
		{"pie", "", "strlen@plt", 2 * calls},
		{"nopie", "", "target", calls},
		{"static", "", "target", calls},
		{"static-pie", "", "target", calls},
		{"one-segment", "", "target", calls},
		{"debugdata", "", "target", calls},
		{"debuglink", "", "target", calls},
		{"shared", "libhits.so", "target", calls},
		{"cxx", "", "ns::T::f(int)", calls},
		{"cxx", "", "ns::T::f(long)", 2 * calls},
		{"cxx", "", "ns::T::f", 3 * calls},
		{"cxx", "", "_ZN2ns1T1fEi", calls},
		{"cxx", "", "ns::T::operator<", calls},
		{"cxx", "", "ns::twice<int>", calls},
		{"cxx", "", "ns::twice*", 2 * calls},
		{"rust", "", "hits::greet", calls},
		{"rust", "", "*Counter*Step*step*", calls},
		{"go", "", `"main.(*counter).add"`, 4 * calls},
		{"go", "", "main.greet", 4 * calls},
		{"go-stripped", "", `"main.(*counter).add"`, 4 * calls},
		{"go-stripped", "", "main.greet", 4 * calls},
	}
	// Where a place is in a file is found the same way on every kernel.
	kernels := []string{"pie", "static", "shared", "go"}
	built := map[string]string{}
	for _, test := range tests {
		if testlimit.Emulated() && !slices.Contains(kernels, test.build) {
			continue
		}
		program := built[test.build]
		if program == "" {
			if why := unavailable(t, test.build); why != "" {
				t.Run(test.build+" "+test.place, func(t *testing.T) { t.Skip(why) })
				continue
			}
			program = own(t, test.build)
			built[test.build] = program
		}
		ways := []struct {
			name, kind string
			exact      bool
			trace      func(*testing.T, *Plan, AttachOptions, string, ...string) []hit
		}{
			{"entry", "p", false, trace},
			{"return", "r", false, trace},
			{"entry, by perf's own events", "p", false, traceSystem},
			{"return, by perf's own events", "r", false, traceSystem},
			{"exact entry", "p", true, trace},
		}
		for i, way := range ways {
			if i >= 2 && test.build != "pie" && test.build != "go" {
				continue // what differs does not depend on the build, and detaching takes a while
			}
			t.Run(test.build+" "+test.place+" "+way.name, func(t *testing.T) {
				target := program
				if test.target != "" {
					target = filepath.Join(filepath.Dir(program), test.target)
				}
				p := resolve(t, way.kind+":"+target+":"+test.place, Options{Exact: way.exact})
				hits := way.trace(t, p, AttachOptions{}, program, strconv.Itoa(calls))
				if len(hits) != test.hits {
					t.Errorf("%s: %d hits, want %d", p, len(hits), test.hits)
				}
			})
		}
	}
}
