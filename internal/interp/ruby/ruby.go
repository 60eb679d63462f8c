package ruby

import (
	"encoding/binary"
	"slices"
	"strings"

	"github.com/ringtap/ringtap/callchain"
	"github.com/ringtap/ringtap/internal/interp"
)

// ruby is the Ruby of a process.
type ruby struct {
	memory interp.Memory
	name   string
	head   uint64 // ruby_single_main_ractor
	tid    uint64 // where in libc's structure of a thread its id is
	loop   interp.Span
	core   []interp.Span // what the loop calls to run instructions, vm_exec_core
	known  map[uint64]*method
}

// Detect attaches to a Ruby whose own code is in a module.
func Detect(p *interp.Process, m *interp.Module) (interp.Runtime, error) {
	loop, ok := m.Symbol("rb_vm_exec")
	if !ok {
		return nil, nil
	}
	version, ok := m.Symbol("ruby_version")
	if !ok {
		return nil, nil
	}
	r := &ruby{memory: p.Memory, name: "Ruby", known: make(map[uint64]*method)}
	unknown := func(why string) error { return &interp.UnknownError{Name: r.name, Why: why} }
	b := make([]byte, min(version.Size, 16))
	if !p.Memory.Read(version.Addr, b) {
		return nil, unknown("its version can't be read")
	}
	text, _, _ := strings.Cut(string(b), "\x00")
	r.name += " " + text
	if !strings.HasPrefix(text, "3.1.") {
		return nil, unknown("the one release that is known is 3.1")
	}
	head, ok := m.Symbol("ruby_single_main_ractor")
	if !ok {
		return nil, unknown("it does not export ruby_single_main_ractor")
	}
	if r.tid, ok = p.ThreadID(); !ok {
		return nil, unknown("its libc does not say where the ids of threads are")
	}
	r.head, r.loop, r.core = head.Addr, m.Span(loop), m.Core(loop, p.Arch)
	return r, nil
}

// Name is of interp.Runtime.
func (r *ruby) Name() string { return r.name }

// Loop is of interp.Runtime.
func (r *ruby) Loop(f callchain.Frame) bool { return r.loop.Has(f) }

// Handler is of interp.Handlers.
func (r *ruby) Handler(f callchain.Frame) bool {
	return slices.ContainsFunc(r.core, func(s interp.Span) bool { return s.Has(f) })
}

// word reads a word into b, which has room for it.
func (r *ruby) word(addr uint64, b []byte) (uint64, bool) {
	if !r.memory.Read(addr, b[:8]) {
		return 0, false
	}
	return binary.LittleEndian.Uint64(b), true
}
