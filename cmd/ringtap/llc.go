package main

import (
	"fmt"
	"io"

	"github.com/spf13/pflag"

	"github.com/ringtap/ringtap/internal/escape"
	"github.com/ringtap/ringtap/internal/questions/llc"
	"github.com/ringtap/ringtap/internal/table"
	"github.com/ringtap/ringtap/perfevent"
)

const llcUsage = `llc [options] [COLLECTOR...] [-- COMMAND ARG...]

Add up the misses of the last-level cache and the references to it, by process and call
stack, with the percentage of references that hit: 1 - misses/references. The CPU counts
both (perf's cache-misses and cache-references). One event in so many is a sample and
stands for all of them (-P).

  ringtap llc -d 10                          the whole host
  ringtap llc -p 4242 -P 1009                one process, more samples
  ringtap llc on-cpu --out c.html -- ./prog  beside the CPU time, as a flame graph

The fewer samples a row has, the less its percentage means, because ringtap samples the
two counters separately. llc needs the CPU's counters, which few virtual machines have.
`

// defaultPeriod is a sample of each counter for so many events. A core refers to its
// last-level cache up to some hundred million times a second, which makes ten
// thousand samples a second of it; the kernel throttles at ten times that. It is a
// prime, so that samples don't fall in step with a loop.
const defaultPeriod = 10007

// llc is the question of llc.
type llcQuestion struct {
	period uint64
}

func (q *llcQuestion) flags(flags *pflag.FlagSet) {
	flags.Uint64VarP(&q.period, "period", "P", defaultPeriod, "llc: sample each counter once in `EVENTS`")
}

func (q *llcQuestion) take(args []string) ([]string, error) { return args, nil }

func (q *llcQuestion) validate() error {
	if q.period < 1 || q.period > 1<<31 {
		return usagef("-P %d: from 1 event to %d", q.period, 1<<31)
	}
	return nil
}

func (q *llcQuestion) make(a *asking) ([]table.Collector, error) {
	collector := llc.New(q.period, a.stacks())
	if err := collector.Available(); err != nil {
		return nil, err
	}
	a.closing(func() error { saySharing(a.out.stderr, collector); return nil })
	return []table.Collector{collector}, nil
}

// saySharing says how long the counters have counted, if that was not all the time.
func saySharing(w io.Writer, c *llc.Collector) {
	misses, references := c.Shared()
	say := func(event perfevent.Event, r perfevent.Running) {
		switch name := escape.Text(event.String()); {
		case r.Enabled > 0 && r.Counted == 0:
			fmt.Fprintf(w, "%s did not count, because all counters of the CPU were in use\n", name)
		case r.Counted < r.Enabled/100*99:
			fmt.Fprintf(w, "%s counted %.0f%% of the time, because it shared the CPU's counters; the numbers are scaled up\n",
				name, 100*float64(r.Counted)/float64(r.Enabled))
		}
	}
	say(c.Misses, misses)
	say(c.References, references)
}
