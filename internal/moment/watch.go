package moment

import (
	"bytes"
	"context"
	"encoding/binary"
	"errors"
	"maps"
	"os"
	"slices"
	"strconv"

	"golang.org/x/sys/unix"

	"github.com/ringtap/ringtap/internal/interp"
	"github.com/ringtap/ringtap/internal/process"
	"github.com/ringtap/ringtap/perfevent"
	"github.com/ringtap/ringtap/perfevent/near"
)

// Watch has the samples of a process read, which has such runtimes. They are visited from some
// milliseconds later on: see Wait. The functions are named as soon as their calls are known.
func (r *Reader) Watch(p *process.Process, runtimes []*interp.Namer) {
	if r.leisure != nil {
		if err := r.leisure.watch(p, runtimes); err != nil {
			r.fail(p.PID, err)
		}
	}
	if r.share > 0 {
		r.visit(p, newNamers(runtimes), news{what: attachTo, pid: p.PID})
	}
}

// fail notes why the calls of a process are missing.
func (r *Reader) fail(pid int, err error) {
	r.log.Info("interpreted functions are not read", "pid", pid, "error", err)
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.why == nil {
		r.why = err
	}
}

// visit has the samples of a process visited.
func (r *Reader) visit(p *process.Process, names namers, wants ...news) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.over || r.closed {
		return
	}
	if t := r.watched[p.PID]; t != nil && t.process == p {
		if names != nil {
			t.names = names
		}
		r.tellMore(t, wants)
		return
	}
	if len(r.watched) >= maxWatched {
		if r.why == nil && names != nil {
			r.why = errTooMany
		}
		return
	}
	t := &target{process: p, names: names, wants: wants, asked: perfevent.Now()}
	again := r.watched[p.PID] != nil
	r.watched[p.PID] = t
	r.ready.Go(func() { r.watch(t, again) })
}

// tellMore tells the helper something of a process that is watched. A watch that is under way does.
func (r *Reader) tellMore(t *target, wants []news) {
	now := perfevent.Now()
	late, again := now >= t.asked+askAgain, false
	for _, n := range wants {
		switch known := slices.Contains(t.wants, n); {
		case known && (n.what == attachTo || !late):
			continue
		case !known:
			t.wants = append(slices.Clip(t.wants), n)
		}
		again = again || n.what != attachTo
		if t.since > 0 && r.helper != nil {
			_ = r.helper.Tell(n.message()) // one that has ended says so by Read
		}
	}
	if again {
		t.asked = now
		clear(t.tops)
	}
}

// Wait returns when the processes are watched that Watch was called for.
func (r *Reader) Wait() { r.ready.Wait() }

// watch is the part of Watch that takes long. A helper may be followed by another one meanwhile,
// which is then told the same.
func (r *Reader) watch(t *target, again bool) {
	pid := t.process.PID
	for {
		helper, wants, err := r.ask(t)
		if err == nil {
			err = tellOf(helper, pid, wants, again)
		}
		if r.settle(t, helper, wants, err) {
			return
		}
	}
}

// tellOf has a helper watch a process, which is another program now if it is watched again.
func tellOf(helper *near.Reader, pid int, wants []news, again bool) error {
	if again {
		if err := helper.Unwatch(pid); err != nil {
			return err
		}
	}
	if err := helper.Watch(pid); err != nil {
		return err
	}
	for _, n := range wants {
		if err := helper.Tell(n.message()); err != nil {
			return err
		}
	}
	helper.Heard(patience) // else its first samples are not read
	return nil
}

// settle ends a watch, unless its helper is no longer the one that is asked.
func (r *Reader) settle(t *target, helper *near.Reader, told []news, err error) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	switch {
	case helper != nil && helper != r.helper, err == nil && len(told) < len(t.wants):
		return false
	case err == nil:
		t.since = perfevent.Now()
	case errors.Is(err, unix.ESRCH), errors.Is(err, perfevent.ErrNoTarget):
		if r.watched[t.process.PID] == t {
			delete(r.watched, t.process.PID) // else it would keep its place for good
		}
	default:
		r.log.Info("a process is not read at the moments of its samples", "pid", t.process.PID, "error", err)
		if r.why == nil && slices.ContainsFunc(told, func(n news) bool { return n.what == attachTo }) {
			r.why = err
		}
	}
	return true
}

// ask returns the helper that is to be told of a process more, and what. It begins with the first, and
// when it has kept the memory of many that have ended.
func (r *Reader) ask(t *target) (helper *near.Reader, wants []news, err error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.attached++; r.helper != nil && r.attached > len(r.watched)+r.most {
		if err := r.replace(); err != nil {
			return nil, nil, err
		}
	}
	switch {
	case r.helper != nil:
		return r.helper, t.wants, nil
	case r.closed:
		return nil, nil, context.Canceled
	}
	helper, err = r.start(t.process.PID)
	return helper, t.wants, err
}

// replace ends the helper, and has what it watched watched by the next one.
func (r *Reader) replace() error {
	helper, cancel := r.helper, r.cancel
	r.helper, r.attached = nil, 1
	for _, t := range r.watched {
		if t.since > 0 {
			t.since = 0
			r.ready.Go(func() { r.watch(t, false) })
		}
	}
	r.mu.Unlock()
	defer r.mu.Lock()
	cancel()
	return helper.Close()
}

// start starts the helper, with a process to watch.
func (r *Reader) start(pid int) (*near.Reader, error) {
	known := pages{each: tablePages(len(r.session.RingFiles())), by: make(map[int][]knownPage)}
	config := binary.AppendUvarint(nil, uint64(known.each))
	helper, err := near.StartBeside(r.session, pid, Visitor, config, near.Options{
		VisitBytes: visitBytes, Share: r.share + beyondShare, Round: r.advance, Logger: r.log})
	if err != nil {
		return nil, err
	}
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan struct{})
	r.helper, r.helpers = helper, append(r.helpers, uint32(helper.PID()))
	r.cancel = func() {
		cancel()
		<-done
	}
	go func() {
		defer close(done)
		err := helper.Read(ctx, func(reading *near.Reading) error { return r.take(helper, &known, reading) })
		r.mu.Lock()
		defer r.mu.Unlock()
		if helper != r.helper {
			return // another one has followed it
		}
		r.over = true
		if err != nil {
			r.why = err
		}
		r.changed.Broadcast()
	}()
	return helper, nil
}

// sweep forgets processes that have ended and readings that nobody has asked for, and has a
// helper that takes too much memory followed by another one.
func (r *Reader) sweep() {
	maps.DeleteFunc(r.readings, func(s sampled, _ Calls) bool { return s.time+uint64(forgotten) < r.swept })
	if r.helper == nil {
		return
	}
	if helper := r.helper; residentBytes(helper.PID()) > r.memory {
		// Not here: the helper's end waits for the goroutine that sweeps.
		r.ready.Go(func() {
			r.mu.Lock()
			defer r.mu.Unlock()
			if r.helper != helper {
				return
			}
			if err := r.replace(); err != nil {
				r.log.Info("the helper did not end well", "error", err)
			}
		})
	}
	for pid, t := range r.watched {
		if t.since == 0 || unix.Kill(pid, 0) != unix.ESRCH {
			continue
		}
		delete(r.watched, pid)
		if err := errors.Join(r.helper.Unwatch(pid), r.helper.Tell(news{what: forget, pid: pid}.message())); err != nil {
			r.log.Info("a process that has ended is still watched", "pid", pid, "error", err)
		}
	}
}

// residentBytes returns how much memory a process has, or 0 if that is unknown (statm in
// proc_pid_statm(5)).
func residentBytes(pid int) uint64 {
	text, err := process.Host{}.Read(pid, "statm")
	fields := bytes.Fields(text)
	if err != nil || len(fields) < 2 {
		return 0
	}
	pages, _ := strconv.ParseUint(string(fields[1]), 10, 64)
	return pages * uint64(os.Getpagesize())
}
