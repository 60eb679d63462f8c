package perfevent

import (
	"cmp"
	"errors"
	"fmt"
	"os"
	"slices"
	"sync/atomic"
	"time"

	"golang.org/x/sys/unix"
)

// Recent is a second set of a session's samplings, in rings that the kernel overwrites
// continuously. The rings keep the last samples and wake nobody. The caller reads them when
// something has happened that makes the samples before it interesting.
//
//	Session.OpenRecent → Start → (something happens) → Stop → Read → Start …
//
// Overwritten samples count only in Account.Counted and Account.Overwritten. Records about
// processes go to the session, which must be read all the time.
//
// A Recent is for one goroutine at a time, and must be closed before its session.
type Recent struct {
	s       *Session // that has the events and rings
	rings   []backward
	started uint64 // when the events were enabled
}

// RecentOptions are the choices of OpenRecent.
type RecentOptions struct {
	// Keep is how far back the rings should reach. How far they really do depends on how
	// much happens: see Kept.Complete.
	Keep time.Duration
	// MaxRingBytes bounds the size of all rings together. 0 means 256 MiB, or a sixteenth of
	// the machine's memory if that is less. Without the privilege to lock memory, the rings
	// get the rest of the user's budget instead: see Options.Recent.
	MaxRingBytes int
	// UserStack is the least size of stack copies in bytes, for samplings that have copies.
	// Probes get at least this size, since GrowStack does not reach a Recent. Time-based
	// samplings are cut down to this size if the rings would not reach back far enough.
	UserStack uint32
}

// ErrNoRecent is returned if the session watches the whole system and drops the records of
// other processes. A Recent can't keep the samples of the target alone then.
var ErrNoRecent = errors.New("no recent samples of this target")

// OpenRecent opens the session's samplings once more, disabled. It must be called before
// Session.Read. The error is an *OpenError.
func (s *Session) OpenRecent(opts RecentOptions) (*Recent, error) {
	if s.filter.active() {
		return nil, &OpenError{Target: s.target.String(), Kind: ErrNoRecent, Err: ErrNoRecent,
			Hint: "it is watched as a part of the whole system; watch that, or a control group"}
	}
	o := &Session{target: s.target, samplings: append([]Sampling(nil), s.samplings...), opts: s.opts, cpus: s.cpus,
		rings: make([]mappedRing, len(s.cpus)), format: s.format, swapped: s.swapped, samplesOnly: true, backward: true,
		accounts: make([]Account, len(s.samplings))}
	o.target.tree = false // what is watched is known
	for _, w := range s.watched {
		o.watched = append(o.watched, watched{pid: w.pid, tid: w.tid, path: w.path, pidfd: -1})
	}
	o.ringSize = s.recentRing(o.samplings, opts)
	fitStacks(o.samplings, o.ringSize, opts)
	if err := o.attachRecent(); err != nil {
		return nil, errors.Join(err, o.detach())
	}
	o.nameLayouts()
	o.compose()
	r := &Recent{s: o}
	for i := range o.rings {
		if o.rings[i].mem != nil {
			r.rings = append(r.rings, backward{ring: o.rings[i].ring})
		}
	}
	return r, nil
}

func (s *Session) attachRecent() error {
	switch s.target.kind {
	case systemTarget:
		return s.attachSystem()
	case cgroupTarget:
		dir, err := os.Open(s.target.cgroup)
		if err != nil {
			return &OpenError{Target: s.target.String(), Kind: ErrNoTarget, Err: err}
		}
		defer dir.Close()
		if err := s.openEverywhere(subject{pid: int(dir.Fd()), flags: unix.PERF_FLAG_PID_CGROUP, samples: true}); err != nil {
			return err
		}
	default:
		if err := s.attachThreads(); err != nil {
			return err
		}
	}
	return s.attachSystemWide()
}

// Bounds of the size of a ring of recent samples in bytes, with the privilege to lock memory.
const (
	leastRecent    = 1 << 20
	greatestRecent = 64 << 20
)

// Recent samples may take 1/memoryShare of the machine's memory.
const memoryShare = 16

// recentRing returns how many bytes each ring should have, within its bounds. For probes, whose
// rate is unknown, it is the greatest size. For time-based samplings, it is twice what Keep
// needs.
func (s *Session) recentRing(samplings []Sampling, opts RecentOptions) int {
	page := os.Getpagesize()
	if !mayLockMemory() {
		return max(page, powerOfTwo(mlockBudget()-s.ringSize-2*page))
	}
	all := opts.MaxRingBytes
	if all == 0 {
		all = defaultAllRings
		var host unix.Sysinfo_t
		if unix.Sysinfo(&host) == nil {
			all = int(min(uint64(all), uint64(host.Totalram)*uint64(host.Unit)/memoryShare))
		}
	}
	need := uint64(0)
	for i := range samplings {
		if samplings[i].Frequency == 0 {
			need = greatestRecent
			break
		}
		need += 2 * uint64(opts.Keep.Seconds()*float64(samplings[i].Frequency)) * uint64(samplings[i].recordBytes())
	}
	size := leastRecent
	for size < greatestRecent && uint64(size) < need {
		size *= 2
	}
	return max(page, min(size, powerOfTwo(all/len(s.cpus))))
}

// fitStacks sets the samplings' UserStack for rings of this size: see RecentOptions.UserStack.
func fitStacks(samplings []Sampling, ring int, opts RecentOptions) {
	samples := 0.0
	for i := range samplings {
		samples += opts.Keep.Seconds() * float64(samplings[i].Frequency)
	}
	for i := range samplings {
		s := &samplings[i]
		switch {
		case s.UserStack == 0:
		case s.Frequency == 0:
			s.UserStack = max(s.UserStack, opts.UserStack)
		default:
			rest := s.recordBytes() - int(s.UserStack)
			bytes := max(ring/int(samples+1)-rest, int(opts.UserStack)) &^ 7
			s.UserStack = uint32(min(int(s.UserStack), bytes))
		}
	}
}

// Start starts to keep samples. It discards those that were kept before.
func (r *Recent) Start() error {
	for i := range r.rings {
		r.rings[i].forget()
	}
	r.started = Now()
	if err := r.s.control(unix.PERF_EVENT_IOC_ENABLE); err != nil {
		return fmt.Errorf("enable events: %w", err)
	}
	return nil
}

// Stop stops keeping samples, so that Read can be called. It disables the events. If it only
// paused their output (PERF_EVENT_IOC_PAUSE_OUTPUT), they would count hits that are then lost.
func (r *Recent) Stop() error {
	if err := r.s.control(unix.PERF_EVENT_IOC_DISABLE); err != nil {
		return fmt.Errorf("disable events: %w", err)
	}
	return nil
}

// RingBytes returns the size of the smallest ring.
func (r *Recent) RingBytes() int {
	least := 0
	for i := range r.rings {
		if n := len(r.rings[i].data); least == 0 || n < least {
			least = n
		}
	}
	return least
}

// Accounts returns one account for each sampling, in their order. If an account is Exact, then
// while the events are disabled
//
//	Received + Duplicates + Lost + Overwritten = Counted
//
// Overwritten is the rest of Counted. It includes samples that Start discarded unread and, on
// the whole system, hits that the kernel counts but never records.
func (r *Recent) Accounts() ([]Account, error) {
	accounts, err := r.s.Accounts()
	for i := range accounts {
		a := &accounts[i]
		if known := a.Received + a.Duplicates + a.Filtered + a.Lost; a.Exact && a.Counted > known {
			a.Overwritten = a.Counted - known
		}
	}
	return accounts, err
}

// Close closes the events and unmaps the rings.
func (r *Recent) Close() error {
	if err := r.s.detach(); err != nil {
		return fmt.Errorf("close recent samples: %w", err)
	}
	return nil
}

// backward is a ring that the kernel writes from its end to its start, over and over, and so
// overwrites the oldest records (attr.write_backward, mapped without PROT_WRITE). head
// decreases with each record. So the newest record starts at head, and older ones follow up to
// one that is partly overwritten. In a ring written forward, nothing would show where a record
// starts.
//
// It is walked only while nothing writes to it.
type backward struct {
	*ring
	read uint64 // records from this position on are discarded: head at the last forget
}

// forget discards the records in the ring.
func (b *backward) forget() { b.read = atomic.LoadUint64(b.head) }

// kept returns the records in the ring, newest first, and reports whether older ones were
// overwritten. A record with an impossible size ends the list.
func (b *backward) kept() (entries []entry, overwritten bool) {
	head := atomic.LoadUint64(b.head)
	kept := b.read - head
	if overwritten = kept > uint64(len(b.data)); overwritten {
		kept = uint64(len(b.data))
	}
	for at := uint64(0); at < kept; {
		pos := head + at
		size, isSample := b.uint64At(pos)>>48, b.isSample(pos)
		if size < headerSize || size%8 != 0 && !isSample || at+size > kept && !overwritten {
			b.malformed++
			return entries, true
		}
		if at+size > kept {
			break // the oldest one, partly overwritten
		}
		timeAt, least := size-trailerTimeAt, uint64(minOtherSize)
		if isSample {
			timeAt, least = sampleTimeAt, minSampleSize
		}
		at += size
		if size < least {
			b.malformed++
			continue
		}
		entries = append(entries, entry{pos: pos, size: uint32(size), time: b.uint64At(pos + timeAt)})
	}
	return entries, overwritten
}

// contexts is how many contexts can be nested on a CPU: a task, a softirq, an interrupt, an NMI.
const contexts = 4

// since returns the time from which on no record is missing, given the entries of kept in a
// ring whose older records were overwritten. An interrupt writes its record, which has a later
// time, before the record that it interrupted. Records written after both have later times than
// either.
func since(entries []entry) uint64 {
	latest := uint64(0)
	for _, e := range entries[max(len(entries)-contexts, 0):] {
		latest = max(latest, e.time)
	}
	return latest
}

// place is a record in one of the rings.
type place struct {
	entry
	ring *backward
}

// Kept is what Read found in the rings.
type Kept struct {
	// Complete is the time from which on every CPU has all its samples, in CLOCK_MONOTONIC
	// nanoseconds. It is the time of Start, or of the oldest sample on the CPU whose ring
	// goes back least far.
	Complete uint64
	// Full is that CPU, or -1 if all rings have all samples since Start.
	Full int

	r      *Recent
	places []place // in time order
}

// Read finds the records in the rings. It must be called after Stop. The result is valid until
// the next Start.
func (r *Recent) Read() *Kept {
	k := &Kept{r: r, Complete: r.started, Full: -1}
	for i := range r.rings {
		b := &r.rings[i]
		entries, overwritten := b.kept()
		for _, e := range entries {
			k.places = append(k.places, place{e, b})
		}
		if !overwritten {
			continue
		}
		complete := since(entries)
		if len(entries) == 0 {
			complete = Now()
		}
		if k.Full < 0 || complete > k.Complete {
			k.Complete, k.Full = complete, b.cpu
		}
	}
	// Coarse clocks give equal times. Of these, the older record has the higher position.
	slices.SortFunc(k.places, func(a, b place) int {
		return cmp.Or(cmp.Compare(a.time, b.time), cmp.Compare(b.pos, a.pos))
	})
	return k
}

// Span returns the start of the time up to end for which the records are complete, at
// most maxLength before end.
func (k *Kept) Span(end uint64, maxLength time.Duration) (start uint64) {
	return min(max(k.Complete, end-min(end, uint64(maxLength))), end)
}

// Each calls handle with the records, in time order. A record is valid until handle returns.
// Each stops at an error of handle and returns it.
func (k *Kept) Each(handle func(Record) error) error {
	for i := range k.places {
		p := &k.places[i]
		if err := k.r.s.receive(p.ring.bytes(&p.entry), handle); err != nil {
			return err
		}
	}
	return nil
}
