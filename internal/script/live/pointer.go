package live

import (
	"bytes"
	"sync"

	"github.com/ringtap/ringtap/callchain"
	"github.com/ringtap/ringtap/internal/script/eval"
	"github.com/ringtap/ringtap/perfevent"
)

// Read reads the memory at an address that the program has computed, of the process of a hit or
// of the kernel. Memory of a process that no record has is read now, which is late.
func (a *Attachment) Read(e *eval.Hit, addr uint64, b []byte) (ok, late bool) {
	h, ok := e.Values.(*hit)
	if !ok || len(b) == 0 {
		return len(b) == 0, false
	}
	if known := h.stackFrom(addr); len(known) >= len(b) {
		copy(b, known)
		return true, false
	}
	if known := h.hereAt(addr); len(known) >= len(b) {
		copy(b, known)
		return true, false
	}
	if m, ok := a.carried.find(h.sample.PID, addr); ok && len(m.data) >= len(b) {
		copy(b, m.data)
		return true, !m.fixed
	}
	if int64(addr) < 0 {
		return false, false
	}
	f := h.feed
	if found, exact := h.keptAt(addr); len(found) >= len(b) {
		copy(b, found)
		if !exact {
			f.account.Late++
		}
		return true, !exact
	}
	f.account.Late++
	if f.programs.changed(h.sample) {
		f.account.Gone++
		return false, true
	}
	return f.processes.Host().ReadMemory(int(h.sample.PID), addr, b) == len(b), true
}

// Text returns the text at an address that the program has computed, if a record has it, and
// whether it may have changed before the hit.
func (a *Attachment) Text(e *eval.Hit, addr uint64) (text string, late, ok bool) {
	h, ok := e.Values.(*hit)
	if !ok {
		return "", false, false
	}
	if known, _, whole := bytes.Cut(h.stackFrom(addr), []byte{0}); whole {
		return string(known), false, true
	}
	if m, ok := a.carried.find(h.sample.PID, addr); ok && m.text {
		return m.data, !m.fixed, true
	}
	text, exact, ok := h.keptText(addr)
	return text, !exact, ok
}

// hereAt returns the memory from an address on that the hit's record has.
func (h *hit) hereAt(addr uint64) []byte {
	for i := range h.source.here {
		p := &h.source.here[i]
		base, ok := p.base.Uint(h.raw)
		if !ok {
			continue
		}
		if b, ok := p.bytes(h.raw); ok {
			if from := addr - base - uint64(int64(p.Offset)); from < uint64(len(b)) {
				return b[from:]
			}
		}
	}
	return nil
}

// stackFrom returns what is known of the user stack at the hit, from an address on.
func (h *hit) stackFrom(addr uint64) []byte { return stackFrom(h.sample, addr) }

func stackFrom(s *perfevent.Sample, addr uint64) []byte {
	_, sp, _, ok := callchain.Host().Frame(s.Regs.Mask, s.Regs.Values)
	if from := addr - sp; ok && from < uint64(len(s.Stack)) {
		return s.Stack[from:]
	}
	return nil
}

// programs is when processes began to run another program, as soon as their records come.
type programs struct {
	mu    sync.Mutex
	since map[uint32]uint64 // by pid
}

// maxPrograms bounds the processes that are known.
const maxPrograms = 1 << 16

// handle notes what a record says.
func (p *programs) handle(record perfevent.Record) {
	comm, ok := record.(*perfevent.Comm)
	if !ok || !comm.Exec {
		return
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.since == nil || len(p.since) >= maxPrograms {
		p.since = make(map[uint32]uint64)
	}
	p.since[comm.PID] = comm.Time
}

// changed tells whether the process of a sample runs another program by now.
func (p *programs) changed(s *perfevent.Sample) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.since[s.PID] > s.Time
}
