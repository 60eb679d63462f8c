package count

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/ringtap/ringtap/internal/cli/launch"
	"github.com/ringtap/ringtap/internal/cli/target"
	"github.com/ringtap/ringtap/internal/cli/usage"
	"github.com/ringtap/ringtap/internal/probe"
	"github.com/ringtap/ringtap/internal/text/escape"
	"github.com/ringtap/ringtap/kprobe"
)

// Request says what to count, and how to write the counts.
type Request struct {
	Spec   string // a pattern of kernel functions, TARGET:PATTERN or t:SYSTEM:PATTERN
	Target *target.Target
	View   probe.View
	Limit  int    // how many functions a pattern may match
	Way    string // how to count kernel functions, one of Ways

	Duration time.Duration // 0: until the context is done or the target has ended
	Interval time.Duration // 0: one report at the end
	Top      int           // write only the Top most called functions; 0: all
	Times    bool          // write the time of day with each report

	Out, Stderr io.Writer
	Note        func(text string) // gets what was understood differently
	Begin       func()            // called before the run starts
	Logger      *slog.Logger
}

// Report counts the hits of Spec in the first way that this kernel supports, and writes them. The
// error is a *usage.Error, a launch.StatusError, Out's, or one of package probe.
func Report(ctx context.Context, c Request) error {
	text := c.Spec
	kind, names := probe.CutKind(text)
	if kind == 't' {
		return c.countEvents(ctx, &probe.Spec{Text: text, Place: probe.Tracepoint, Probe: names}, "tracepoint")
	}
	names = strings.TrimPrefix(text, "p:")
	if strings.TrimSpace(names) == "" {
		return usage.Errorf("give the functions to count, such as 'vfs_*' or 'libc:mem*'")
	}
	spec, err := probe.Parse("p:"+names, c.View)
	if err != nil {
		return err
	}
	spec.Text = names
	if spec.Place == probe.Kernel {
		spec.Text = spec.Probe
		return c.countKernel(ctx, spec)
	}
	return c.countEvents(ctx, spec, "function")
}

// greet writes what is counted, in the words of perf-tools.
func (c *Request) greet(spec, functions string) error {
	top := ""
	if c.Top > 0 {
		top = fmt.Sprintf(" Top %d only.", c.Top)
	}
	name := escape.Text(spec)
	if c.Duration > 0 {
		_, err := fmt.Fprintf(c.Out, "Tracing \"%s\" (%s) for %s seconds.%s..\n", name, functions, strconv.FormatFloat(c.Duration.Seconds(), 'g', -1, 64), top)
		return err
	}
	_, err := fmt.Fprintf(c.Out, "Tracing \"%s\" (%s).%s.. Ctrl-C to end.\n", name, functions, top)
	return err
}

// several returns a number and a noun.
func several(n int, thing string) string {
	if n == 1 {
		return "1 " + thing
	}
	return fmt.Sprintf("%d %ss", n, thing)
}

// manyEvents is how many events take the kernel seconds to close. For each one it waits some 40 ms,
// until no CPU runs its code any more (tracepoint_synchronize_unregister).
const manyEvents = 50

// countEvents counts by perf events. If places share an event, it reads the kernel's count of each
// place.
func (c *Request) countEvents(ctx context.Context, spec *probe.Spec, thing string) error {
	target, command, err := launch.Open(c.Target)
	if err != nil {
		return err
	}
	defer launch.Leave(command)
	options := probe.Options{Target: target, View: c.View, Limit: c.Limit, PMU: spec.Place == probe.User,
		Counts: true, Method: kprobe.MethodKprobeEvents, Logger: c.Logger}
	if !c.Target.Whole() && (spec.Place == probe.Kernel || c.Target.TID != 0 || c.Target.Cgroup != "") {
		options.Sharing = probe.ShareNone // otherwise the kernel would count everyone's hits
	}
	set, err := probe.Open(spec, options)
	if spec.Place != probe.Kernel {
		for _, note := range set.Notes {
			c.Note(note)
		}
	}
	if err != nil {
		return err
	}
	defer set.Release(c.Stderr)
	for _, name := range set.Functions {
		if strings.HasPrefix(name, "sched:sched_stat_") {
			c.Note(name + " counts nanoseconds, not hits")
		}
	}
	c.Logger.Debug("counting by events", "functions", len(set.Functions), "shared", set.Shared())
	c.Begin()
	names := set.Names()
	err = Run(ctx, Options{
		Target: target, Set: set, LeaveOutOwn: spec.Place != probe.User && c.Target.Whole(),
		Duration: c.Duration, Interval: c.Interval, Logger: c.Logger,
		Armed: func() error { return c.greet(spec.Text, several(len(set.Functions), thing)) },
		Emit: func(hits map[string]uint64) error {
			called := make(map[string]uint64, len(hits))
			for i, function := range set.Functions {
				called[names[i]] += hits[function]
				delete(hits, function) // several places may have the same name
			}
			return c.print(called)
		},
		Emitted: func() error {
			if events := len(set.Sources); events >= manyEvents {
				c.Note(fmt.Sprintf("the kernel takes a while to close %d events, one after another", events))
			}
			_, err := fmt.Fprint(c.Out, "\nEnding tracing...\n")
			return err
		},
	})
	if err == nil {
		err = launch.End(ctx, c.Stderr, command)
	}
	return errors.Join(err, set.SayMissed(c.Stderr))
}

// print prints the calls of an interval, the most frequent last.
func (c *Request) print(called map[string]uint64) error {
	type row struct {
		name  string
		calls uint64
	}
	var rows []row
	for name, calls := range called {
		if calls > 0 {
			rows = append(rows, row{name, calls})
		}
	}
	slices.SortFunc(rows, func(a, b row) int {
		switch {
		case a.calls < b.calls:
			return -1
		case a.calls > b.calls:
			return 1
		}
		return strings.Compare(b.name, a.name)
	})
	if c.Top > 0 && len(rows) > c.Top {
		rows = rows[len(rows)-c.Top:]
	}
	var text strings.Builder
	text.WriteByte('\n')
	if c.Times {
		fmt.Fprintln(&text, time.Now().Format(time.TimeOnly))
	}
	fmt.Fprintf(&text, "%-30s %8s\n", "FUNC", "COUNT")
	for _, r := range rows {
		fmt.Fprintf(&text, "%-30s %8d\n", escape.Text(r.name), r.calls)
	}
	_, err := fmt.Fprint(c.Out, text.String())
	return err
}
