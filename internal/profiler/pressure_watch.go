package profiler

import (
	"context"
	"errors"
	"fmt"
	"io"
	"runtime"
	"time"

	"golang.org/x/sys/unix"

	"github.com/ringtap/ringtap/internal/table"
	"github.com/ringtap/ringtap/perfevent"
)

// urgently calls f on a thread that runs before others as soon as it is woken, with
// the privileges for that (CAP_SYS_NICE): where the CPUs are what is short, an
// alarm would be heard when it is over.
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

// watch waits for alarms until the context is done.
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

// alarm records what follows an alarm, and leaves what came before it to the
// goroutine that handles records. It returns when the events are off again.
func (a *alarms) alarm(ctx context.Context) error {
	name := fmt.Sprintf("alarm %d of %s", a.count, a.Name)
	notes := a.notes(name)
	woken := perfevent.Now()
	from := woken
	a.woken.Store(woken)
	if a.recent == nil {
		// Before the events are on, so that no sample is before the span.
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

// look stops the recent samples at an alarm, and leaves them to be replayed. What
// follows them is enabled before, and counts from the time on that is returned: so
// nothing is missing between the two, and nothing is there twice.
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

// reach is what is said of the window before an alarm.
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

// goOn waits until a span ends, and has another follow it if an alarm has come
// again.
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

// after is what is recorded of an alarm.
func (a *alarms) after(from uint64, notes []string) table.Span {
	return table.Span{Start: from, End: from + uint64(a.After), Notes: notes}
}

// record has a span recorded, after what is to be replayed.
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

// span has a span recorded.
func (a *alarms) span(s table.Span) {
	a.run.engine.Locked(func() { a.run.recorder.RecordSpan(s) })
}

// notes are those of a window.
func (a *alarms) notes(name string) []string {
	notes := []string{name}
	if a.skipped > a.told {
		notes = append(notes, fmt.Sprintf("%d alarms before were not recorded: the output could not keep up", a.skipped-a.told))
		a.told = a.skipped
	}
	return notes
}
