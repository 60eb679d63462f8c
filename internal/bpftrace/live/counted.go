package live

import (
	"encoding/binary"
	"fmt"
	"os"

	"github.com/ringtap/ringtap/ftrace"
	"github.com/ringtap/ringtap/internal/bpftrace/eval"
	"github.com/ringtap/ringtap/internal/probe"
	"github.com/ringtap/ringtap/internal/process"
	"github.com/ringtap/ringtap/perfevent"
)

// counted is an event at many places. The kernel counts the hits of each place without recording
// them. Only this process's own hits are recorded, in a trace instance, and then subtracted:
//
//	probe.Set.Hits ─────┬→ the clauses, once for each place: Hit.Times
//	instance, our own ──┘
type counted struct {
	source   *source
	set      *probe.Set
	instance *ftrace.Instance
	pipe     *ftrace.Pipe
	index    map[uint64]int // of places, in the order of Set.Hits
	own      []int64        // this process's hits at each place
	seen     []int64        // hits of other processes at each place that clauses have seen
	// For the account: hits that clauses have seen, and our own hits before the start.
	total     uint64
	ownBefore int64
}

// attachCounted makes the kernel count the hits of a set if the clauses need no samples of them.
// It returns false if the hits must be sampled. The caller still owns the set.
func (a *Attachment) attachCounted(s *source, set *probe.Set) (ok bool, err error) {
	if a.options.Target.String() != perfevent.System().String() || !set.Shared() || len(set.Sources) != 1 || !s.event.Placed(a.program) {
		return false, nil
	}
	c := &counted{source: s, set: set, index: make(map[uint64]int)}
	for i, place := range set.Places() {
		c.index[place] = i
	}
	c.own = make([]int64, len(set.Places()))
	if err := c.open(); err != nil {
		a.options.Logger.Debug("hits can't be counted without records", "error", err)
		return false, c.close()
	}
	a.counted = append(a.counted, c)
	return true, nil
}

// open prepares the instance.
func (c *counted) open() error {
	tracefs, _, err := ftrace.Mount()
	if err != nil {
		return err
	}
	if c.instance, err = tracefs.NewInstance(); err != nil {
		return err
	}
	if err := c.instance.Write("options/event-fork", "1"); err != nil {
		return err
	}
	if err := c.instance.Write("trace_clock", "mono"); err != nil {
		return err
	}
	add := func(lines string) error { return c.instance.Append("set_event_pid", lines+"\n") }
	if err := (process.Host{}).AddThreads(os.Getpid(), add); err != nil {
		return err
	}
	c.pipe, err = c.instance.FS().OpenPipe()
	return err
}

// start turns the probes on. Hits from now on count.
func (c *counted) start() error {
	format := c.source.probe.Format
	if err := c.instance.Write("events/"+format.System+"/"+format.Name+"/enable", "1"); err != nil {
		return fmt.Errorf("count %s: %w", c.source.event.Point.Text, err)
	}
	var err error
	c.seen, err = c.read()
	c.ownBefore = sum(c.own)
	return err
}

// read returns the hits of other processes at each place. Reading itself causes hits, the same
// number each time, so only the differences between two results are correct.
func (c *counted) read() ([]int64, error) {
	hits, err := c.set.Hits()
	if err != nil {
		return nil, err
	}
	format := c.source.probe.Format
	err = c.pipe.DrainUntil(perfevent.Now(), func(e, _ *ftrace.Entry) error {
		addr, ok := firstAddress(e.Raw)
		if !ok || e.Type() != format.ID {
			return nil
		}
		if place, ok := c.source.kernelPlace(addr); ok {
			c.own[c.index[place]]++
		}
		return nil
	})
	others := make([]int64, len(hits))
	for i := range hits {
		others[i] = int64(hits[i]) - c.own[i]
	}
	return others, err
}

// close removes the instance, which turns the probes off.
func (c *counted) close() error {
	if c.pipe != nil {
		c.pipe.Close()
	}
	if c.instance == nil {
		return nil
	}
	return c.instance.Close()
}

// takeCounts runs the clauses for the hits that the kernel has counted by now.
func (f *feed) takeCounts() error {
	for _, c := range f.counted {
		hits, err := c.read()
		if err != nil {
			return err
		}
		for i, place := range c.set.Places() {
			if n := hits[i] - c.seen[i]; n > 0 {
				c.seen[i] = hits[i]
				c.total += uint64(n)
				f.counts(c.source, place, uint64(n))
			}
		}
	}
	return nil
}

// counts runs the clauses of a source for n hits at a place.
func (f *feed) counts(s *source, place, n uint64) {
	sample := perfevent.Sample{Raw: make([]byte, addressAt+8)}
	binary.NativeEndian.PutUint64(sample.Raw[addressAt:], place)
	f.hit = hit{feed: f, source: s, sample: &sample, raw: sample.Raw}
	f.run(eval.Hit{Time: perfevent.Now(), Times: n, Values: &f.hit})
}

// bookCounts adds the counted hits to the account.
func (f *feed) bookCounts() error {
	for _, c := range f.counted {
		f.account.Own += uint64(sum(c.own) - c.ownBefore)
		account := perfevent.Account{InKernel: c.total, Counted: c.total, Exact: true}
		f.account.Events = append(f.account.Events, account)
		f.account.Probes = append(f.account.Probes, Book{c.source.event.Point.Text, account})
		lost, err := c.pipe.Lost()
		if err != nil {
			return err
		}
		f.account.OwnSeen += lost
	}
	return nil
}

func sum(numbers []int64) (total int64) {
	for _, n := range numbers {
		total += n
	}
	return total
}
