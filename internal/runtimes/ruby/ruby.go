package ruby

import (
	"encoding/binary"
	"fmt"
	"slices"
	"strings"

	"github.com/ringtap/ringtap/callchain"
	"github.com/ringtap/ringtap/internal/runtimes/interp"
)

type ruby struct {
	memory interp.Memory
	name   string
	head   uint64 // ruby_current_vm_ptr
	pid    int    // in its pid namespace
	tid    uint64 // offset of the thread id in libc's thread structure; 0: libc does not say
	layout
	loop  interp.Span
	core  []interp.Span // vm_exec_core, which the loop calls to run instructions
	known map[callee]*method
	compiled
}

// Detect attaches to Ruby if m holds Ruby's own code.
func Detect(p *interp.Process, m *interp.Module) (interp.Runtime, error) {
	version, ok := m.Symbol("ruby_version")
	if !ok {
		return nil, nil
	}
	r := &ruby{memory: p.Memory, name: "Ruby", pid: p.PID, known: make(map[callee]*method)}
	unknown := func(why string) error { return &interp.UnknownError{Name: r.name, Why: why} }
	b := make([]byte, min(version.Size, 16))
	if !p.Memory.Read(version.Addr, b) {
		return nil, unknown("its version can't be read")
	}
	text, _, _ := strings.Cut(string(b), "\x00")
	r.name += " " + text
	var major, minor, patch int
	if _, err := fmt.Sscanf(text, "%d.%d.%d", &major, &minor, &patch); err == nil {
		r.layout, ok = layoutOf(major, minor, patch, p.Arch)
	}
	if r.frameSize == 0 || !ok {
		return nil, unknown("the releases that are known are 2.5 to 4.0")
	}
	if r.head, ok = current(m, p.Arch); !ok {
		return nil, unknown("where it has its threads was not found")
	}
	loop, ok := loopOf(m, p.Arch)
	if !ok {
		return nil, unknown("the function that runs its code was not found")
	}
	r.tid, _ = p.ThreadID()
	r.loop, r.core = m.Span(loop), m.Core(loop, p.Arch)
	var err error
	if r.compiled, err = newCompiled(m); err != nil {
		return nil, unknown(err.Error())
	}
	return r, nil
}

// current returns the address of ruby_current_vm_ptr. Since 3.3 it is not exported, but
// ruby_vm_at_exit starts by loading it.
func current(m *interp.Module, arch callchain.Arch) (uint64, bool) {
	if s, ok := m.Symbol("ruby_current_vm_ptr"); ok {
		return s.Addr, true
	}
	s, ok := m.Symbol("ruby_vm_at_exit")
	if !ok {
		return 0, false
	}
	return m.Variable(s, arch)
}

// loopOf returns vm_exec, which not every release exports. rb_iseq_eval_main ends by calling
// it.
func loopOf(m *interp.Module, arch callchain.Arch) (interp.Symbol, bool) {
	if s, ok := m.Symbol("rb_vm_exec"); ok {
		return s, true
	}
	s, ok := m.Symbol("rb_iseq_eval_main")
	if !ok {
		return s, false
	}
	return m.Runner(s, arch)
}

// Name implements interp.Runtime.
func (r *ruby) Name() string { return r.name }

// Loop implements interp.Runtime.
func (r *ruby) Loop(f callchain.Frame) bool { return r.loop.Has(f) }

// Handler implements interp.Handlers.
func (r *ruby) Handler(f callchain.Frame) bool {
	return slices.ContainsFunc(r.core, func(s interp.Span) bool { return s.Has(f) })
}

// word reads a word into b, which must have room for it.
func (r *ruby) word(addr uint64, b []byte) (uint64, bool) {
	if !r.memory.Read(addr, b[:8]) {
		return 0, false
	}
	return binary.LittleEndian.Uint64(b), true
}
