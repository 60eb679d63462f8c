package profiler

import (
	"context"
	"errors"
	"fmt"
	"io"
	"runtime"
	"time"

	"golang.org/x/sys/unix"

	"github.com/ringtap/ringtap/internal/collect/table"
	"github.com/ringtap/ringtap/perfevent"
)

// urgently calls f on a thread with real-time priority, if ringtap has the right to that
// (CAP_SYS_NICE). If CPUs are short, an ordinary thread would get to an alarm only when the
// shortage is over.
func urgently(f func() error) error {
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	own, err := unix.SchedGetAttr(0, 0)
	if err == nil && own.Policy == unix.SCHED_NORMAL {
		real := &unix.SchedAttr{Size: unix.SizeofSchedAttr, Policy: unix.SCHED_FIFO, Priority: 1, Flags: unix.SCHED_FLAG_RESET_ON_FORK}
		if unix.SchedSetAttr(0, real, 0) == nil {
			defer unix.SchedSetAttr(0, own, 0)
		}
	}
	return f()
}

// watch handles alarms until the context is done.
func (a *alarms) watch(ctx context.Context) error {
	if a.Alarm == nil {
		<-ctx.Done()
		return nil
	}
	for ctx.Err() == nil {
		err := a.Alarm.Wait(ctx)
		switch {
		case ctx.Err() != nil, errors.Is(err, io.EOF):
			return nil
		case err != nil:
			return err
		case !a.ready(2):
			a.skipped++
			continue
		}
		a.count++
		if err := a.alarm(ctx); err != nil {
			return err
		}
	}
	return nil
}

// alarm records what follows an alarm. It leaves the samples from before it to the goroutine that
// handles records. It returns when the events are off again.
func (a *alarms) alarm(ctx context.Context) error {
	name := fmt.Sprintf("alarm %d of %s", a.count, a.Name)
	notes := a.notes(name)
	woken := perfevent.Now()
	from := woken
	a.woken.Store(woken)
	if a.recent == nil {
		// The span comes before the events are on, so that no sample is earlier than the span.
		a.record(a.after(from, notes))
		if err := a.Live.Enable(); err != nil {
			return err
		}
	} else {
		var err error
		if from, err = a.look(from, notes); err != nil {
			return err
		}
	}
	a.run.opts.Logger.Debug("alarm", "name", name, "at", woken, "took", time.Duration(perfevent.Now()-woken))
	if a.After > 0 {
		if err := a.goOn(ctx, from+uint64(a.After)); err != nil {
			return err
		}
		if err := a.Live.Disable(); err != nil {
			return err
		}
	}
	if a.recent == nil {
		return nil
	}
	select {
	case <-ctx.Done(): // finish does it
		return nil
	case <-a.pending.done:
		return a.recent.Start()
	}
}

// look stops the recent samples at an alarm, and leaves them to be replayed. The events that record
// what follows are enabled before that, and count from the time that look returns. So no sample is
// missing, and none counts twice.
func (a *alarms) look(from uint64, notes []string) (uint64, error) {
	a.pending.announce(from)
	defer a.pending.give()
	if a.After > 0 {
		if err := a.Live.Enable(); err != nil {
			return from, err
		}
		from = perfevent.Now()
		a.record(table.Span{Start: from, End: from + uint64(a.After), Follows: true, Notes: notes})
	}
	if err := a.recent.Stop(); err != nil {
		return from, err
	}
	a.pending.there, a.pending.end, a.pending.notes = true, from, notes
	return from, nil
}

// reach returns the notes of the window before an alarm. The first one says how much of Before it
// has.
func (a *alarms) reach(kept *perfevent.Kept, start, end uint64, notes []string) []string {
	length := time.Duration(end - start).Round(time.Millisecond)
	note := fmt.Sprintf("before %s: the last %v", notes[0], length)
	switch {
	case start > end-min(end, uint64(a.Before)) && kept.Full >= 0:
		note += fmt.Sprintf(" of %v, the ring of CPU %d (%d KiB) reaches no further back", a.Before, kept.Full, a.recent.RingBytes()>>10)
	case length < a.Before:
		note += fmt.Sprintf(" of %v, nothing was kept before", a.Before)
	}
	return append([]string{note}, notes[1:]...)
}

// goOn waits until a span ends. If another alarm has come meanwhile, it lets another span follow.
func (a *alarms) goOn(ctx context.Context, end uint64) error {
	for {
		timer := time.NewTimer(time.Duration(end - min(end, perfevent.Now())))
		select {
		case <-ctx.Done():
			timer.Stop()
			return nil
		case <-timer.C:
		}
		again, err := a.Alarm.Pending()
		if err != nil || !again {
			return err
		}
		if !a.ready(1) {
			a.skipped++
			return nil
		}
		a.count++
		span := a.after(end, a.notes(fmt.Sprintf("alarm %d of %s, which came while the one before was recorded", a.count, a.Name)))
		span.Follows = true
		a.record(span)
		end = span.End
	}
}

// after returns the span that follows an alarm.
func (a *alarms) after(from uint64, notes []string) table.Span {
	return table.Span{Start: from, End: from + uint64(a.After), Notes: notes}
}

// record passes a span to the recorder. If samples are pending, the span has to wait for their
// replay.
func (a *alarms) record(s table.Span) {
	p := &a.pending
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.from.Load() != 0 {
		p.later = append(p.later, s)
	} else {
		a.span(s)
	}
}

// span passes a span to the recorder.
func (a *alarms) span(s table.Span) {
	a.run.engine.Locked(func() { a.run.recorder.RecordSpan(s) })
}

// notes returns the notes of a window: its name, and alarms that were skipped before it.
func (a *alarms) notes(name string) []string {
	notes := []string{name}
	if a.skipped > a.told {
		notes = append(notes, fmt.Sprintf("%d alarms before were not recorded: the output could not keep up", a.skipped-a.told))
		a.told = a.skipped
	}
	return notes
}
