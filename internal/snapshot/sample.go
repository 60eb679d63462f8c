package snapshot

import (
	"context"
	"errors"
	"slices"
	"time"

	"golang.org/x/sys/unix"

	"github.com/ringtap/ringtap/callchain"
	"github.com/ringtap/ringtap/internal/stack"
	"github.com/ringtap/ringtap/perfevent"
)

// Threads that run are sampled so often a second, for so long at most.
const (
	sampleFrequency = 999
	sampleTime      = 100 * time.Millisecond
)

// notRun is why a thread has no sample that could have one.
const notRun = "it was ready to run but did not while it was looked at"

// sample gives the threads that run a stack: one sample of each.
func (l *look) sample(ctx context.Context) {
	running := make(map[uint32]*Thread)
	var tids []int
	for _, t := range l.snapshot.Threads {
		if t.State == 'R' {
			running[uint32(t.TID)] = t
			tids = append(tids, t.TID)
		}
	}
	if len(running) == 0 {
		return
	}
	why := notRun
	if err := l.sampleEach(ctx, tids, running); err != nil {
		why = err.Error()
	}
	for _, t := range running {
		switch {
		case t.Sampled:
		case l.files.alive(t.TID):
			t.Missing = why
		default:
			t.Missing = errGone.Error()
		}
	}
}

// sampleEach samples threads until each was seen or the time is over.
func (l *look) sampleEach(ctx context.Context, tids []int, running map[uint32]*Thread) error {
	stacks := stack.Stacks{User: true, Kernel: true, Unwind: stack.Auto}
	session, err := l.openClock(tids, stacks)
	if err != nil {
		return err
	}
	defer session.Close()
	if err := session.Enable(); err != nil {
		return err
	}
	ctx, cancel := context.WithTimeout(ctx, sampleTime)
	defer cancel()
	stacker := stack.NewStacker(l.host(), stacks)
	left := len(running)
	return session.Read(ctx, func(record perfevent.Record) error {
		l.processes.Handle(record)
		sample, ok := record.(*perfevent.Sample)
		if !ok {
			return nil
		}
		if t := running[sample.TID]; t != nil && !t.Sampled {
			l.sampled(t, stacker, sample)
			if left--; left == 0 {
				cancel()
			}
		}
		return nil
	})
}

// openClock opens the clock of the threads that have not ended, of their user code only
// where no more is allowed.
func (l *look) openClock(tids []int, stacks stack.Stacks) (session *perfevent.Session, err error) {
	for range attempts {
		tids = slices.DeleteFunc(tids, func(tid int) bool { return !l.files.alive(tid) })
		if len(tids) == 0 {
			return nil, errGone
		}
		for _, user := range []bool{false, true} {
			sampling := perfevent.Sampling{Event: perfevent.CPUClock(), Frequency: sampleFrequency, ExcludeKernel: user}
			stacks.Ask(&sampling)
			session, err = perfevent.Open(perfevent.Thread(tids...), []perfevent.Sampling{sampling}, perfevent.Options{Logger: l.opts.Logger})
			if err == nil {
				return session, nil
			}
		}
		if !errors.Is(err, unix.ESRCH) {
			break
		}
	}
	return nil, err
}

// sampled gives a thread the stacks of its sample.
func (l *look) sampled(t *Thread, stacker *stack.Stacker, sample *perfevent.Sample) {
	t.Sampled = true
	if frames := stacker.Kernel(sample); len(frames) > 0 {
		l.kernels[t] = l.intern(frames, false)
	}
	if frames, end := stacker.User(l.user.space, sample); len(frames) > 0 {
		t.Truncated = end != callchain.Complete
		l.stacks[t] = l.intern(frames, t.Truncated)
	}
}
