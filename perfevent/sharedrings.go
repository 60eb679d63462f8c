package perfevent

import (
	"errors"
	"sync"
	"time"
)

// sharedRings waits for the rings of a session with Options.Shared. There each record of some events wakes
// whoever waits, and a wake-up costs the program that makes the record as much as the record. So after each
// wake-up the rings wake nobody for a while.
//
// Once another reader follows the rings, they wake that one only: a ring says once only that there are records.
type sharedRings struct {
	poll *poller
	fds  []int // of the events that own the rings; none if samples come at a rate that is known

	mu       sync.Mutex // of what follows
	armed    bool       // the rings wake this reader
	followed bool       // they are another reader's, for good
}

// How long a reader waits at most: until a record comes; after one that woke it, for more of them; and while the
// last look has found more than stormPart of a ring in use. A million records a second, each with 2 KiB of stack,
// fill 32 MiB in 14 ms.
const (
	sharedTimeout = 20 * time.Millisecond
	restTimeout   = 5 * time.Millisecond
	stormTimeout  = 2 * time.Millisecond
	stormPart     = 1.0 / 64
)

// wait returns when it is time to look at the rings. used is how much of the fullest ring the last look has found
// in use, from 0 to 1.
func (s *sharedRings) wait(used float64) error {
	if used > stormPart && len(s.fds) > 0 {
		_, err := s.waitFor(stormTimeout, false)
		return err
	}
	woken, err := s.waitFor(sharedTimeout, true)
	if woken && err == nil {
		_, err = s.waitFor(restTimeout, false)
	}
	return err
}

// waitFor waits for most at most, for the rings too if arms is true. It reports whether something ended the wait
// early.
func (s *sharedRings) waitFor(most time.Duration, arms bool) (woken bool, err error) {
	if err := s.arm(arms); err != nil {
		return false, err
	}
	return s.poll.waitFor(most)
}

// arm makes the rings wake this reader if arms is true and no other reader follows them. Otherwise they don't.
func (s *sharedRings) arm(arms bool) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	arms = arms && !s.followed
	if s.armed == arms {
		return nil
	}
	change := s.poll.removeRing
	if arms {
		change = s.poll.addRing
	}
	var err error
	for _, fd := range s.fds {
		err = errors.Join(err, change(fd))
	}
	s.armed = arms
	return err
}

// letFollow has the rings wake another reader from now on.
func (s *sharedRings) letFollow() error {
	s.mu.Lock()
	s.followed = true
	s.mu.Unlock()
	return s.arm(false)
}
