package live

import (
	"bytes"

	"github.com/ringtap/ringtap/internal/bpftrace/eval"
	"github.com/ringtap/ringtap/internal/readmem/athit"
)

// Read fills b with the memory at an address that the program has computed, in the hit's process or in the kernel.
// ok reports whether it could. late reports whether the memory may have changed since the hit. Kernel memory is
// known from records only.
func (a *Attachment) Read(e *eval.Hit, addr uint64, b []byte) (ok, late bool) {
	h, ok := e.Values.(*hit)
	if !ok || len(b) == 0 {
		return len(b) == 0, false
	}
	if known := athit.StackCopy(h.sample, addr); len(known) >= len(b) {
		copy(b, known)
		return true, false
	}
	if known := h.hereAt(addr); len(known) >= len(b) {
		copy(b, known)
		return true, false
	}
	if m, ok := a.argCache.find(h.sample.PID, addr); ok && len(m.data) >= len(b) {
		copy(b, m.data)
		return true, !m.fixed
	}
	if int64(addr) < 0 {
		return false, false
	}
	f := h.feed
	if found, exact := h.foundAt(addr); len(found) >= len(b) {
		copy(b, found)
		if !exact {
			f.account.Late++
		}
		return true, !exact
	}
	f.account.Late++
	if f.reader.Replaced(h.sample) {
		f.account.Gone++
		return false, true
	}
	return f.processes.Host().ReadMemory(int(h.sample.PID), addr, b) == len(b), true
}

// Text returns the text at an address that the program has computed. ok is false if no record has it and it was
// not read at the hit. late reports whether the text may have changed since the hit.
func (a *Attachment) Text(e *eval.Hit, addr uint64) (text string, late, ok bool) {
	h, ok := e.Values.(*hit)
	if !ok {
		return "", false, false
	}
	if known, _, whole := bytes.Cut(athit.StackCopy(h.sample, addr), []byte{0}); whole {
		return string(known), false, true
	}
	if m, ok := a.argCache.find(h.sample.PID, addr); ok && m.text {
		return m.data, !m.fixed, true
	}
	b, exact := h.foundAt(addr)
	b, _, ok = bytes.Cut(b, []byte{0})
	return string(b), !exact, ok
}

// hereAt returns the memory from addr on if the hit's own record has it, or nil.
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
