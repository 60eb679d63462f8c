package main

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"golang.org/x/sys/unix"

	"github.com/ringtap/ringtap/internal/visible"
	"github.com/ringtap/ringtap/perfevent"
	"github.com/ringtap/ringtap/uprobe"
)

const funccountUsage = `funccount [flags] TARGET:PATTERN

Counts calls of user functions, in the kernel: no event is recorded. TARGET is a
path, a command or a library, PATTERN a function or several ('mem*').

  ringtap funccount -d 5 'libc:mem*'          for five seconds
  ringtap funccount -i 1 -t 10 'libc:*alloc'  the ten most called, every second
  ringtap funccount -p 1182 ./prog:'*'
`

// countFlags are the flags of funccount.
type countFlags struct {
	duration, interval secondsFlag
	pid                int
	top                int
	times              bool
	limit              int
	verbose            bool
}

func countFunctions(ctx context.Context, out *console, args []string) error {
	var c countFlags
	flags := newFlags(out, "funccount", funccountUsage)
	flags.VarP(&c.duration, "duration", "d", "end after this long (else by Ctrl-C, or with the process)")
	flags.VarP(&c.interval, "interval", "i", "print what was called in each of these")
	flags.IntVarP(&c.pid, "pid", "p", 0, "only this process: its threads and children, those born later too")
	flags.IntVarP(&c.top, "top", "t", 0, "only this many functions: the most called")
	flags.BoolVarP(&c.times, "timestamp", "T", false, "print the time with each interval")
	flags.IntVar(&c.limit, "limit", 1000, "the most functions that a pattern may stand for")
	flags.BoolVar(&c.verbose, "verbose", false, "say on standard error what is done and why")
	if err := parse(flags, args); err != nil {
		return err
	}
	rest := flags.Args()
	switch {
	case len(rest) == 0:
		return usagef("no functions given, such as 'libc:mem*'")
	case len(rest) > 1:
		return usagef("unexpected argument %q", rest[1])
	case flags.Changed("pid") && c.pid <= 0:
		return usagef("-p %d is not a process id", c.pid)
	case flags.Changed("top") && c.top < 1:
		return usagef("-t %d: at least one function", c.top)
	case c.limit < 1:
		return usagef("--limit %d: at least one function", c.limit)
	}
	return c.count(ctx, out, rest[0])
}

// count attaches counters to the functions and prints what they count.
func (c *countFlags) count(ctx context.Context, out *console, spec string) error {
	logger := out.logger(c.verbose)
	plan, err := resolve(out, "p:"+spec, uprobe.Options{PID: c.pid, MaxSites: c.limit, Logger: logger})
	if err != nil {
		return err
	}
	defer plan.Close()
	target := perfevent.System()
	if c.pid != 0 {
		target = perfevent.Process(c.pid)
	}
	attachment, err := uprobe.Attach(plan, uprobe.AttachOptions{Target: target, Few: target.PerSampling(), Merge: len(plan.Sites) > manyPlaces, Logger: logger})
	if err != nil {
		return wrongDefinition(err)
	}
	defer closing(out, attachment)
	counters, err := perfevent.OpenCounters(target, attachment.Events, perfevent.Options{Logger: logger})
	if err != nil {
		return err
	}
	defer counters.Close()
	if err := counters.Enable(); err != nil {
		return err
	}
	functions := "1 function"
	if n := len(plan.Sites); n > 1 {
		functions = fmt.Sprintf("%d functions", n)
	}
	if _, err := fmt.Fprintf(out.stdout, "Tracing \"%s\" (%s)... Ctrl-C to end.\n", visible.Text(spec), functions); err != nil {
		return ignoreClosedPipe(err)
	}
	read := counters.Read
	if attachment.Merged() {
		read = attachment.Hits
	}
	return ignoreClosedPipe(c.watch(ctx, out, counters, read, siteNames(plan)))
}

func siteNames(plan *uprobe.Plan) []string {
	var names []string
	for _, site := range plan.Sites {
		names = append(names, site.Symbol)
	}
	return names
}

// watch prints the counts of each interval, which read reads, until the end.
func (c *countFlags) watch(ctx context.Context, out *console, counters *perfevent.Counters, read func() ([]uint64, error), names []string) error {
	if c.duration > 0 {
		var cancel context.CancelFunc
		ctx, cancel = context.WithTimeout(ctx, time.Duration(c.duration))
		defer cancel()
	}
	var tick <-chan time.Time
	if c.interval > 0 {
		ticker := time.NewTicker(time.Duration(c.interval))
		defer ticker.Stop()
		tick = ticker.C
	}
	before := make([]uint64, len(names))
	for ended := false; !ended; {
		select {
		case <-ctx.Done():
			ended = true
		case <-counters.Ended():
			ended = true
		case <-tick:
		}
		if ended {
			if err := counters.Disable(); err != nil {
				return err
			}
		}
		counts, err := read()
		if err != nil {
			return err
		}
		if err := c.print(out, names, before, counts); err != nil {
			return err
		}
		before = counts
	}
	_, err := fmt.Fprint(out.stdout, "\nEnding tracing...\n")
	return err
}

// print prints what was called since the counts before, the most called last.
func (c *countFlags) print(out *console, names []string, before, counts []uint64) error {
	type row struct {
		name  string
		calls uint64
	}
	var rows []row
	for i, count := range counts {
		if calls := count - before[i]; calls > 0 {
			rows = append(rows, row{names[i], calls})
		}
	}
	slices.SortStableFunc(rows, func(a, b row) int {
		if a.calls != b.calls {
			return int(int64(a.calls - b.calls))
		}
		return strings.Compare(b.name, a.name)
	})
	if c.top > 0 && len(rows) > c.top {
		rows = rows[len(rows)-c.top:]
	}
	var text strings.Builder
	text.WriteByte('\n')
	if c.times {
		fmt.Fprintln(&text, time.Now().Format(time.TimeOnly))
	}
	fmt.Fprintf(&text, "%-30s %8s\n", "FUNC", "COUNT")
	for _, r := range rows {
		fmt.Fprintf(&text, "%-30s %8d\n", visible.Text(r.name), r.calls)
	}
	_, err := fmt.Fprint(out.stdout, text.String())
	return err
}

// ignoreClosedPipe drops the error of writing to a reader that has seen enough
// (head(1)): that is no failure.
func ignoreClosedPipe(err error) error {
	if errors.Is(err, unix.EPIPE) {
		return nil
	}
	return err
}
