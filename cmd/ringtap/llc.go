package main

import (
	"github.com/spf13/pflag"

	"github.com/ringtap/ringtap/internal/collect"
	"github.com/ringtap/ringtap/internal/collect/llc"
	"github.com/ringtap/ringtap/internal/collect/table"
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

// defaultPeriod is how many events of a counter make one sample. A core refers to its
// last-level cache up to some hundred million times a second, which makes ten
// thousand samples a second. The kernel throttles at ten times that rate. The period
// is a prime number, so that samples do not fall in step with a loop.
const defaultPeriod = 10007

type llcQuestion struct {
	plain
	period uint64
}

func (q *llcQuestion) flags(flags *pflag.FlagSet) {
	flags.Uint64VarP(&q.period, "period", "P", defaultPeriod, "llc: sample each counter once in `EVENTS`")
}

func (q *llcQuestion) validate() error {
	if q.period < 1 || q.period > 1<<31 {
		return usagef("-P %d: from 1 event to %d", q.period, 1<<31)
	}
	return nil
}

func (q *llcQuestion) open(run *collect.Run) ([]table.Collector, error) {
	return llc.Open(run, q.period)
}
