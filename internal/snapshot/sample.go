package snapshot

import (
	"context"
	"errors"
	"slices"
	"time"

	"golang.org/x/sys/unix"

	"github.com/ringtap/ringtap/callchain"
	"github.com/ringtap/ringtap/internal/run"
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
	source, err := l.openClock(tids, stacks)
	if err != nil {
		return err
	}
	defer source.Close()
	engine, err := run.New(source, run.Options{Processes: l.processes, Duration: sampleTime, Logger: l.opts.Logger})
	if err != nil {
		return err
	}
	defer engine.Close()
	if err := source.Enable(); err != nil {
		return err
	}
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	stacker := stack.NewStacker(l.host(), stacks)
	stacker.Know(l.runtimes)
	return engine.Run(ctx, &sampler{look: l, running: running, left: len(running), stacker: stacker, cancel: cancel})
}

// sampler is the sink of the samples of threads that run.
type sampler struct {
	*look
	running map[uint32]*Thread
	left    int // that have no sample yet
	stacker *stack.Stacker
	cancel  func()
}

// Record takes the first sample of each thread, and ends the run with the last of them.
func (s *sampler) Record(record perfevent.Record) error {
	sample, ok := record.(*perfevent.Sample)
	if !ok {
		return nil
	}
	if t := s.running[sample.TID]; t != nil && !t.Sampled {
		s.sampled(t, s.stacker, sample)
		if s.left--; s.left == 0 {
			s.cancel()
		}
	}
	return nil
}

// openClock opens the clock of the threads that have not ended, of their user code only
// where no more is allowed.
func (l *look) openClock(tids []int, stacks stack.Stacks) (source *run.Live, err error) {
	for range attempts {
		tids = slices.DeleteFunc(tids, func(tid int) bool { return !l.files.alive(tid) })
		if len(tids) == 0 {
			return nil, errGone
		}
		for _, user := range []bool{false, true} {
			sampling := perfevent.Sampling{Event: perfevent.CPUClock(), Frequency: sampleFrequency, ExcludeKernel: user}
			stacks.Prepare(&sampling)
			source, err = run.Open(perfevent.Thread(tids...), []perfevent.Sampling{sampling}, perfevent.Options{Logger: l.opts.Logger})
			if err == nil {
				return source, nil
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
		if slices.ContainsFunc(frames, l.interpreters.runs) {
			t.Uninterpreted = unread
		}
	}
}
