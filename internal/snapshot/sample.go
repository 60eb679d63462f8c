package snapshot

import (
	"context"
	"errors"
	"slices"
	"time"

	"golang.org/x/sys/unix"

	"github.com/ringtap/ringtap/callchain"
	"github.com/ringtap/ringtap/internal/engine"
	"github.com/ringtap/ringtap/internal/stack"
	"github.com/ringtap/ringtap/perfevent"
)

// How often per second running threads are sampled, and for how long at most.
const (
	sampleFrequency = 999
	sampleTime      = 100 * time.Millisecond
)

// notRun is why there is no sample of a thread that was ready to run.
const notRun = "it was ready to run but did not while it was looked at"

// sample sets the stacks of running threads, from one sample of each.
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

// sampleEach samples threads until there is a sample of each or sampleTime is over.
func (l *look) sampleEach(ctx context.Context, tids []int, running map[uint32]*Thread) error {
	stacks := stack.Stacks{User: true, Kernel: true, Unwind: stack.Auto}
	source, err := l.openClock(tids, stacks)
	if err != nil {
		return err
	}
	defer source.Close()
	e, err := engine.Start(ctx, source, engine.Options{Processes: l.processes, Duration: sampleTime, Logger: l.opts.Logger})
	if err != nil {
		return err
	}
	defer e.Close()
	if err := e.Enable(); err != nil {
		return err
	}
	stacker := stack.NewStacker(l.host(), stacks)
	stacker.Know(l.runtimes)
	return e.Run(&sampler{look: l, running: running, left: len(running), stacker: stacker, end: e.End})
}

// sampler is the engine's sink for samples of running threads.
type sampler struct {
	*look
	running map[uint32]*Thread
	left    int // number of threads without a sample
	stacker *stack.Stacker
	end     func()
}

// Record uses the first sample of each thread. After the last thread's sample, it ends the run.
func (s *sampler) Record(record perfevent.Record) error {
	sample, ok := record.(*perfevent.Sample)
	if !ok {
		return nil
	}
	if t := s.running[sample.TID]; t != nil && !t.Sampled {
		s.sampled(t, s.stacker, sample)
		if s.left--; s.left == 0 {
			s.end()
		}
	}
	return nil
}

// openClock opens the CPU clock of the threads that still exist. If it may not sample the kernel,
// it samples user code only.
func (l *look) openClock(tids []int, stacks stack.Stacks) (source *engine.Live, err error) {
	for range attempts {
		tids = slices.DeleteFunc(tids, func(tid int) bool { return !l.files.alive(tid) })
		if len(tids) == 0 {
			return nil, errGone
		}
		for _, user := range []bool{false, true} {
			sampling := perfevent.Sampling{Event: perfevent.CPUClock(), Frequency: sampleFrequency, ExcludeKernel: user}
			stacks.Prepare(&sampling)
			source, err = engine.Open(perfevent.Thread(tids...), []perfevent.Sampling{sampling}, perfevent.Options{Logger: l.opts.Logger})
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

// sampled sets the stacks of a thread from its sample.
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
