package atsample

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"maps"
	"slices"

	"golang.org/x/sys/unix"

	"github.com/ringtap/ringtap/internal/process"
	"github.com/ringtap/ringtap/internal/readmem/helper"
)

// Limits of a helper: see helper.Options.
const (
	visitBytes = 256 << 10
	// visitCost is the CPU time, in seconds, that a visit may take on its CPU. Measured were 20 µs if samples are
	// frequent, and up to 120 µs if they are rare; this allows about twice the usual time. The helper's share of
	// a CPU is never more than maxShare, to which deepStackShare is added.
	visitCost = 80e-6
	minShare  = 0.02
	maxShare  = 0.1
	// MaxVisitRate is how many samples per second a helper may visit on each CPU.
	MaxVisitRate = maxShare / visitCost
)

// maxWatched is the most processes whose interpreters or deep stacks are read at the same time. The helper never
// frees memory, and needs about 150 KB per process. After maxEnded of its processes have ended it is replaced.
const (
	maxWatched = 256
	maxEnded   = 250
)

// maxHelperBytes is the resident memory above which a helper is replaced. It covers whatever maxEnded does not,
// such as processes whose exit records were lost.
const maxHelperBytes = 64 << 20

// errTooManyProcesses says why the calls of further processes are missing.
var errTooManyProcesses = fmt.Errorf("%d processes are read, and no more", maxWatched)

// childFor returns the helper that is to watch w, and the requests to send to it. It starts the first helper, and
// replaces one that has watched too many processes.
func (r *Reader) childFor(w *watchedProcess) (child *helper.Reader, requests []request, err error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.attachCount++; r.child != nil && r.attachCount > len(r.watched)+r.endedLimit {
		if err := r.replaceChild(); err != nil {
			return nil, nil, err
		}
	}
	switch {
	case r.child != nil:
		return r.child, w.requests, nil
	case r.closed:
		return nil, nil, context.Canceled
	}
	child, err = r.startChild(w.process.PID)
	return child, w.requests, err
}

// startChild starts a helper that watches process pid, and the goroutine that reads from it. r.mu is held.
func (r *Reader) startChild(pid int) (*helper.Reader, error) {
	tables := pageTables{slots: pageTableSize(len(r.session.RingFiles())), byCPU: make(map[int][]tablePage)}
	config := binary.AppendUvarint(nil, uint64(tables.slots))
	child, err := helper.FollowSession(r.session, pid, Visitor, config, helper.Options{
		VisitBytes: visitBytes, Share: r.share + deepStackShare, Progress: r.advance, Logger: r.log})
	if err != nil {
		return nil, err
	}
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan struct{})
	r.child, r.childPIDs = child, append(r.childPIDs, uint32(child.PID()))
	r.stopRead = func() {
		cancel()
		<-done
	}
	go func() {
		defer close(done)
		err := child.Read(ctx, func(reading *helper.Reading) error { return r.addReading(child, &tables, reading) })
		r.mu.Lock()
		defer r.mu.Unlock()
		if child != r.child {
			return // replaced: another goroutine reads
		}
		r.ended = true
		if err != nil {
			r.cause = err
		}
		r.changed.Broadcast()
	}()
	return child, nil
}

// replaceChild ends the helper. Its processes are watched by the next one, which watchInHelper starts. r.mu is
// held, but unlocked while the helper ends.
func (r *Reader) replaceChild() error {
	child, stop := r.child, r.stopRead
	r.child, r.attachCount = nil, 1
	for _, w := range r.watched {
		if w.readSince > 0 {
			w.readSince = 0
			r.watches.Go(func() { r.watchInHelper(w, false) })
		}
	}
	r.mu.Unlock()
	defer r.mu.Lock()
	stop()
	return child.Close()
}

// sweep forgets readings older than readingTTL and processes that have ended, and replaces a helper that uses too
// much memory. r.mu is held.
func (r *Reader) sweep() {
	maps.DeleteFunc(r.readings, func(s sampleKey, _ Calls) bool { return s.time+uint64(readingTTL) < r.sweptAt })
	if r.child == nil {
		return
	}
	if child := r.child; (process.Host{}).ResidentBytes(child.PID()) > r.memoryLimit {
		// On another goroutine, because Close waits for this one.
		r.watches.Go(func() {
			r.mu.Lock()
			defer r.mu.Unlock()
			if r.child != child {
				return
			}
			if err := r.replaceChild(); err != nil {
				r.log.Info("the helper did not end well", "error", err)
			}
		})
	}
	for pid, w := range r.watched {
		if w.readSince == 0 || unix.Kill(pid, 0) != unix.ESRCH {
			continue
		}
		delete(r.watched, pid)
		if err := errors.Join(r.child.Unwatch(pid), r.child.Send(request{kind: reqForget, pid: pid}.encode())); err != nil {
			r.log.Info("a process that has ended is still watched", "pid", pid, "error", err)
		}
	}
}

// IsHelper reports whether pid is or was a helper, so that its samples can be left out.
func (r *Reader) IsHelper(pid uint32) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	return slices.Contains(r.childPIDs, pid)
}

// schedClass returns the lowest scheduling class of the helper's threads. It reports false if there is no helper.
func (r *Reader) schedClass() (lowest helper.SchedClass, ok bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.child == nil {
		return 0, false
	}
	lowest = helper.FIFO
	for _, a := range r.child.Accounts() {
		lowest = min(lowest, a.SchedClass)
	}
	return lowest, true
}
