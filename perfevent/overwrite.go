package perfevent

import (
	"errors"
	"fmt"
	"os"
	"time"

	"golang.org/x/sys/unix"
)

// Recent is a second set of a session's samplings, in rings that the kernel writes
// over and over: the last samples are kept, nobody is woken, and what they were is
// read when something has happened that makes one ask.
//
//	Session.OpenRecent → Start → (something happens) → Stop → Read → Start …
//
// What was written over is in no number but Counted and Overwritten of an Account.
// The records about processes are the session's, which must be read all the time.
//
// A Recent is for one goroutine at a time, and closed before its session.
type Recent struct {
	s       *Session // that has the events and rings
	rings   []backward
	started uint64 // when the events were enabled
}

// RecentOptions are the choices of OpenRecent.
type RecentOptions struct {
	// Keep is how far back the rings should reach. How far they do depends on how
	// much happens: Read tells.
	Keep time.Duration
	// MaxRingBytes bounds the size of all rings together; 0 means 256 MiB, or the
	// sixteenth part of the machine's memory if that is less. Without the privilege
	// to lock memory it is what is left of the user's budget: see Options.Recent.
	MaxRingBytes int
	// UserStack is how many bytes of the user stack samples carry at least that carry
	// any. Those of probes are made so large, since nothing makes them grow later;
	// those of sampling by time so small, where the rings would not reach far enough.
	UserStack uint32
}

// ErrNoRecent: the session watches its target by leaving out all others, and no
// recent samples can be kept of it alone.
var ErrNoRecent = errors.New("no recent samples of this target")

// OpenRecent opens the session's samplings once more, disabled. It is to be called
// before Read. The error is an *OpenError.
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

// The sizes of a ring of recent samples, where they may be chosen.
const (
	leastRecent    = 1 << 20
	greatestRecent = 64 << 20
)

// memoryShare is the part of the machine's memory that recent samples may take.
const memoryShare = 16

// recentRing returns how many bytes each ring should have. How often every hit of a
// probe is a sample nobody knows; sampling by time is twice what is wanted.
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

// fitStacks sets how much of the user stack samples carry, for rings of that size.
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

// Start begins to keep samples. What was kept before a Stop and not read is let go
// of: see Read.
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

// Stop ends that. The events are disabled, and not only kept from writing
// (PERF_EVENT_IOC_PAUSE_OUTPUT): what they would count meanwhile would be lost.
func (r *Recent) Stop() error {
	if err := r.s.control(unix.PERF_EVENT_IOC_DISABLE); err != nil {
		return fmt.Errorf("disable events: %w", err)
	}
	return nil
}

// RingBytes is the size of the smallest ring.
func (r *Recent) RingBytes() int {
	least := 0
	for i := range r.rings {
		if n := len(r.rings[i].data); least == 0 || n < least {
			least = n
		}
	}
	return least
}

// Accounts returns one account for each sampling, in their order. Where they are
// Exact,
//
//	Received + Duplicates + Lost + Overwritten = Counted
//
// while the events are disabled. Overwritten is the rest of Counted: also samples
// that nothing read before Start let go of them, and on the whole system what the
// kernel counts and never records.
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
