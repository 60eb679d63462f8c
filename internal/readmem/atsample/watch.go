package atsample

import (
	"errors"
	"slices"

	"golang.org/x/sys/unix"

	"github.com/ringtap/ringtap/internal/process"
	"github.com/ringtap/ringtap/internal/readmem/helper"
	"github.com/ringtap/ringtap/internal/runtimes/interp"
	"github.com/ringtap/ringtap/perfevent"
)

// Watch starts reading interpreter frames at each sample of p, which has the given runtimes. The first sample that
// is read comes some milliseconds later: see Wait. The functions are named as soon as their calls have been read.
func (r *Reader) Watch(p *process.Process, runtimes []*interp.Namer) {
	if r.offCPU != nil {
		if err := r.offCPU.watch(p, runtimes); err != nil {
			r.fail(p.PID, err)
		}
	}
	if r.share > 0 {
		r.request(p, newNamers(runtimes), request{kind: reqAttach, pid: p.PID})
	}
}

// Wait blocks until all processes that were passed to Watch are watched.
func (r *Reader) Wait() { r.watches.Wait() }

// fail logs that the calls of process pid cannot be read, and keeps the first such error for Notes.
func (r *Reader) fail(pid int, err error) {
	r.log.Info("interpreted functions are not read", "pid", pid, "error", err)
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.cause == nil {
		r.cause = err
	}
}

// request makes the helper watch p and sends requests about it. If namers is not nil, they replace those of p.
func (r *Reader) request(p *process.Process, namers namers, requests ...request) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.ended || r.closed {
		return
	}
	if w := r.watched[p.PID]; w != nil && w.process == p {
		if namers != nil {
			w.namers = namers
		}
		r.requestMore(w, requests)
		return
	}
	if len(r.watched) >= maxWatched {
		if r.cause == nil && namers != nil {
			r.cause = errTooManyProcesses
		}
		return
	}
	w := &watchedProcess{process: p, namers: namers, requests: requests, requestedAt: perfevent.Now()}
	replaces := r.watched[p.PID] != nil
	r.watched[p.PID] = w
	r.watches.Go(func() { r.watchInHelper(w, replaces) })
}

// requestMore sends more requests about a watched process to the helper. If the watch has not started yet, it sends
// them when it starts. Requests that were sent before are sent again after repeatAfter. r.mu is held.
func (r *Reader) requestMore(w *watchedProcess, requests []request) {
	now := perfevent.Now()
	isDue, repeats := now >= w.requestedAt+repeatAfter, false
	for _, req := range requests {
		switch known := slices.Contains(w.requests, req); {
		case known && (req.kind == reqAttach || !isDue):
			continue
		case !known:
			w.requests = append(slices.Clip(w.requests), req)
		}
		repeats = repeats || req.kind != reqAttach
		if w.readSince > 0 && r.child != nil {
			_ = r.child.Send(req.encode()) // if the helper has ended, Read says so
		}
	}
	if repeats {
		w.requestedAt = now
		clear(w.marks)
	}
}

// watchInHelper is the slow part of request, on a goroutine of its own. If the helper is replaced meanwhile, it
// starts again with the next one. replaces is true if the process ran another program before.
func (r *Reader) watchInHelper(w *watchedProcess, replaces bool) {
	pid := w.process.PID
	for {
		child, requests, err := r.childFor(w)
		if err == nil {
			err = watchAndTell(child, pid, requests, replaces)
		}
		if r.finishWatch(w, child, requests, err) {
			return
		}
	}
}

// watchAndTell makes the helper watch process pid and sends it requests. It returns when the visitors have
// handled them.
func watchAndTell(child *helper.Reader, pid int, requests []request, replaces bool) error {
	if replaces {
		if err := child.Unwatch(pid); err != nil {
			return err
		}
	}
	if err := child.Watch(pid); err != nil {
		return err
	}
	for _, req := range requests {
		if err := child.Send(req.encode()); err != nil {
			return err
		}
	}
	child.WaitReceived(readingTimeout) // the first samples would not be read
	return nil
}

// finishWatch notes the result of watchAndTell. It reports false if that must be done again, because the helper
// was replaced or more requests have come.
func (r *Reader) finishWatch(w *watchedProcess, child *helper.Reader, sent []request, err error) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	switch {
	case child != nil && child != r.child, err == nil && len(sent) < len(w.requests):
		return false
	case err == nil:
		w.readSince = perfevent.Now()
	case errors.Is(err, unix.ESRCH), errors.Is(err, perfevent.ErrNoTarget):
		if r.watched[w.process.PID] == w {
			delete(r.watched, w.process.PID) // a process that has ended would count towards maxWatched for good
		}
	default:
		r.log.Info("a process is not read at the moments of its samples", "pid", w.process.PID, "error", err)
		if r.cause == nil && slices.ContainsFunc(sent, func(r request) bool { return r.kind == reqAttach }) {
			r.cause = err
		}
	}
	return true
}
