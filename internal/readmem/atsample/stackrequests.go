package atsample

import (
	"slices"

	"github.com/ringtap/ringtap/callchain"
	"github.com/ringtap/ringtap/internal/process"
	"github.com/ringtap/ringtap/internal/readmem/helper"
	"github.com/ringtap/ringtap/perfevent"
)

// ReadDeepStacks starts reading the stacks of p past the copies of its samples: by the helper, and at waits. The
// caller found the stack of a sample cut short; known is what was read at that sample. Call it again when a
// later stack is still cut: the process may have new stacks.
func (r *Reader) ReadDeepStacks(p *process.Process, known *Calls) {
	if r.offCPU != nil {
		r.offCPU.request(p, known, request{kind: reqDeepStacks, pid: p.PID})
	}
	if r.share == 0 || known.gaveUp {
		return
	}
	r.request(p, nil, request{kind: reqDeepStacks, pid: p.PID})
	if len(known.Beyond.Top.Pages) > 0 {
		r.mu.Lock()
		defer r.mu.Unlock()
		if w := r.watched[p.PID]; w != nil {
			w.deadRefuted = w.deadRefuted || w.deadMarked
		}
	}
}

// FollowSwitches starts reading the other stacks of p, which its stacks switch to in crossings. Call it again if a
// later stack still lacks callers. known is what was read at that sample.
func (r *Reader) FollowSwitches(p *process.Process, crossings []callchain.Crossing, known *Calls) {
	requests := make([]request, 0, maxCrossings)
	for _, c := range crossings[:min(len(crossings), maxCrossings)] {
		req := request{reqSwitchToC, p.PID, c.Start, c.End}
		if c.IntoGo {
			req.kind = reqSwitchToGo
		}
		requests = append(requests, req)
	}
	if r.offCPU != nil {
		r.offCPU.request(p, known, requests...)
	}
	if r.share > 0 && !known.gaveUp {
		r.request(p, nil, requests...)
	}
}

// MarkDead notes that the memory in [start, end) holds no frames of the stacks of p, so that it need not be read.
// If a stack turns out to be cut because of that, ReadDeepStacks has all of it read again.
func (r *Reader) MarkDead(p *process.Process, start, end uint64) {
	if r.offCPU != nil {
		r.offCPU.mark(p, request{reqMarkDead, p.PID, start, end})
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	if w := r.watched[p.PID]; w != nil && !w.deadRefuted && r.markOnce(p, end, request{reqMarkDead, p.PID, start, end}) {
		w.deadMarked = true
	}
}

// MarkEnd notes that no stack of p that lies below addr extends past it, so that the memory there need not be read.
func (r *Reader) MarkEnd(p *process.Process, addr uint64) {
	req := request{kind: reqMarkEnd, pid: p.PID, addr: addr}
	if r.offCPU != nil {
		r.offCPU.mark(p, req)
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	r.markOnce(p, addr, req)
}

// maxMarks is the most calls of MarkEnd and MarkDead that are sent to the helper for one process, until it reads
// the process's areas again.
const maxMarks = 1 << 8

// markOnce sends a reqMarkDead or reqMarkEnd about addr to the helper, and reports whether it did. It sends only
// the first one for each addr. r.mu is held.
func (r *Reader) markOnce(p *process.Process, addr uint64, req request) bool {
	w := r.watched[p.PID]
	if w == nil || w.process != p || w.readSince == 0 || r.child == nil || w.marks[addr] || len(w.marks) >= maxMarks {
		return false
	}
	if w.marks == nil {
		w.marks = make(map[uint64]bool)
	}
	w.marks[addr] = true
	_ = r.child.Send(req.encode()) // if the helper has ended, Read says so
	return true
}

// maxInexact is how many readings of deep stacks in a row may be inexact, for a process at one sampling, before
// reading them ends there. At some probed instructions readings are never exact, because the kernel changes
// more than package helper can account for. Without root, readings are never exact at all.
const maxInexact = 100

// countInexact counts the inexact readings of deep stacks at a sampling in a row. After maxInexact of them it
// makes the helper stop reading deep stacks of the process there. r.mu is held.
func (r *Reader) countInexact(w *watchedProcess, sampling int, isExact bool) {
	if isExact {
		delete(w.inexact, sampling)
		return
	}
	if w.inexact == nil {
		w.inexact = make(map[int]int)
	}
	// Repeat it from time to time: a new helper may have taken over that does not know.
	if w.inexact[sampling]++; w.inexact[sampling]%maxInexact == 0 && r.child != nil {
		_ = r.child.Send(request{kind: reqSkipSampling, pid: w.process.PID, addr: uint64(sampling)}.encode()) // if the helper has ended, Read says so
	}
}

// repeatAfter is the shortest time after which a request is sent again, in nanoseconds. Sending it again makes
// the helper read the list of the process's areas again.
const repeatAfter = 100e6

// maxPending is the most requests that wait for the off-CPU reader's next round.
const maxPending = 1 << 10

// request makes the off-CPU reader read stacks of p from its next waits on, as requests say. The caller found a
// stack cut or without callers; known is what was read of it. A request that was sent before is sent again only
// if known is exact, so that the stack lies in memory that was not known, and repeatAfter has passed.
func (o *offCPUReader) request(p *process.Process, known *Calls, requests ...request) {
	o.mu.Lock()
	defer o.mu.Unlock()
	w := o.processes[uint32(p.PID)]
	switch isNew := w == nil || w.process != p; {
	case isNew && o.add(newWaitingProcess(p, nil)) != nil:
		return
	case isNew:
		w = o.processes[uint32(p.PID)]
	}
	w.deadRefuted = w.deadRefuted || w.deadMarked && len(known.Beyond.Top.Pages) > 0
	now, merged := perfevent.Now(), w.requests
	for _, req := range requests {
		if !slices.Contains(merged, req) {
			merged = append(merged, req)
		}
	}
	isRepeat := len(merged) == len(w.requests)
	if isRepeat && (known.Kind != helper.Exact || now < w.requestedAt+repeatAfter) || len(o.pending)+len(requests) > maxPending {
		return
	}
	w.requests, w.requestedAt = merged, now
	o.pending = append(o.pending, requests...)
}

// mark passes a reqMarkDead or reqMarkEnd to the off-CPU reader.
func (o *offCPUReader) mark(p *process.Process, req request) {
	o.mu.Lock()
	defer o.mu.Unlock()
	w := o.processes[uint32(p.PID)]
	if w == nil || w.process != p || len(o.pending) >= maxPending || req.kind == reqMarkDead && w.deadRefuted {
		return
	}
	w.deadMarked = w.deadMarked || req.kind == reqMarkDead
	o.pending = append(o.pending, req)
}
