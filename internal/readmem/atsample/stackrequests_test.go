package atsample

import (
	"log/slog"
	"os"
	"testing"

	"github.com/ringtap/ringtap/callchain"
	"github.com/ringtap/ringtap/internal/process"
	"github.com/ringtap/ringtap/internal/readmem/helper"
	"github.com/ringtap/ringtap/perfevent"
)

func TestDeepStacksThatAreNeverExactAreNotRead(t *testing.T) {
	table := process.NewTable(process.Options{})
	defer table.Close()
	const always, never = 3, 4 // samplings
	p := table.Process(os.Getpid())
	r := New(nil, 99, nil, slog.New(slog.DiscardHandler))
	one, other := &watchedProcess{process: p, readSince: 1}, &watchedProcess{process: p, readSince: 1}
	r.watched[p.PID], r.completeBefore = one, 10
	isVain := func(sampling int) bool {
		return r.At(&perfevent.Sample{Header: perfevent.Header{PID: uint32(p.PID), Time: 5}, Sampling: sampling}).gaveUp
	}
	for range maxInexact - 1 {
		r.countInexact(one, never, false)
		r.countInexact(one, always, false)
	}
	if isVain(never) {
		t.Error("the reader gives up a sampling too early")
	}
	r.countInexact(one, always, true)
	r.countInexact(one, always, false)
	r.countInexact(one, never, false)
	r.countInexact(other, always, false)
	if one.inexact[always] != 1 || one.inexact[never] != maxInexact || other.inexact[always] != 1 {
		t.Errorf("inexact in a row were %v and %v", one.inexact, other.inexact)
	}
	if !isVain(never) || isVain(always) {
		t.Error("the reader does not give up the sampling that is never exact, and it alone")
	}
	if r.ReadDeepStacks(p, &Calls{gaveUp: true}); len(one.requests) > 0 {
		t.Error("deep stacks are read at a sampling that was given up")
	}
	if r.ReadDeepStacks(p, new(Calls)); len(one.requests) == 0 {
		t.Error("deep stacks are not read at other samplings")
	}
}

func TestARequestIsRepeatedOnlyIfAnExactStackIsCut(t *testing.T) {
	table := process.NewTable(process.Options{})
	defer table.Close()
	p := table.Process(os.Getpid())
	o := &offCPUReader{processes: make(map[uint32]*waitingProcess), wake: make(chan struct{}, 1)}
	requests := func() (n int) {
		for _, req := range o.pending {
			if req.kind == reqDeepStacks {
				n++
			}
		}
		return n
	}
	unread, read := &Calls{}, &Calls{Kind: helper.Exact}
	o.request(p, unread, request{kind: reqDeepStacks, pid: p.PID})
	o.request(p, unread, request{kind: reqDeepStacks, pid: p.PID})
	o.request(p, read, request{kind: reqDeepStacks, pid: p.PID}) // too soon
	if n := requests(); n != 1 {
		t.Errorf("%d requests, want 1", n)
	}
	w := o.processes[uint32(p.PID)]
	w.requestedAt -= repeatAfter
	o.request(p, unread, request{kind: reqDeepStacks, pid: p.PID})
	if n := requests(); n != 1 {
		t.Errorf("%d requests, want 1", n)
	}
	if o.request(p, read, request{kind: reqDeepStacks, pid: p.PID}); requests() != 2 {
		t.Errorf("%d requests, want 2", requests())
	}
	o.mark(p, request{kind: reqMarkDead, pid: p.PID})
	if !w.deadMarked || len(o.pending) != 3 {
		t.Errorf("%d requests, want 3", len(o.pending))
	}
	read.Beyond.Top.Pages = []*callchain.Page{new(callchain.Page)}
	o.request(p, read, request{kind: reqDeepStacks, pid: p.PID})
	if o.mark(p, request{kind: reqMarkDead, pid: p.PID}); !w.deadRefuted || len(o.pending) != 3 {
		t.Errorf("%d requests, want 3: memory that is dead in one stack is not in another", len(o.pending))
	}
	for range 2 * maxPending {
		o.mark(p, request{kind: reqMarkEnd, pid: p.PID})
	}
	if len(o.pending) != maxPending {
		t.Errorf("%d requests, want %d", len(o.pending), maxPending)
	}
}
