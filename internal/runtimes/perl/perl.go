package perl

import (
	"fmt"
	"strings"

	"github.com/ringtap/ringtap/callchain"
	"github.com/ringtap/ringtap/internal/runtimes/interp"
)

type perl struct {
	memory interp.Memory
	name   string
	tid    int    // of the thread that runs Perl, in its pid namespace
	head   uint64 // PL_curinterp
	layout
	ops
	loops []interp.Span
	names map[uint64]*function
}

// layout holds the offsets that differ among releases, in bytes.
type layout struct {
	curcop, curstackinfo   uint64 // PerlInterpreter
	infoType               uint64 // PERL_SI
	contextCV, contextSize uint64 // PERL_CONTEXT
	stashAux               uint64 // in the body of a hash; 0: it follows the hash's array
}

func layoutOf(minor int) layout {
	l := layout{curcop: 0xe0, curstackinfo: 0xf0, infoType: 0x28, contextCV: 0x40, contextSize: 0x60}
	if minor >= 32 {
		l.infoType, l.contextCV, l.contextSize = 0x2c, 0x48, 0x68
	}
	if minor >= 34 {
		l.curcop, l.curstackinfo = 0xd0, 0xe0
	}
	if minor >= 36 {
		l.stashAux = 0x20
	}
	return l
}

// The range of minor releases with a known layout.
const (
	oldest = 28
	newest = 44
)

// Detect attaches to Perl if m holds Perl's own code.
func Detect(p *interp.Process, m *interp.Module) (interp.Runtime, error) {
	loop, ok := m.Symbol("Perl_runops_standard")
	if !ok {
		return nil, nil
	}
	r := &perl{memory: p.Memory, name: "Perl", tid: p.PID, names: make(map[uint64]*function)}
	unknown := func(why string) error { return &interp.UnknownError{Name: r.name, Why: why} }
	var version [3]byte
	for i, name := range []string{"PL_revision", "PL_version", "PL_subversion"} {
		if s, ok := m.Symbol(name); !ok || !p.Memory.Read(s.Addr, version[i:i+1]) {
			return nil, unknown("its version was not found")
		}
	}
	r.name = fmt.Sprintf("Perl %d.%d.%d", version[0], version[1], version[2])
	minor := int(version[1])
	if version[0] != 5 || minor < oldest || minor > newest {
		return nil, unknown(fmt.Sprintf("the releases that are known are 5.%d to 5.%d", oldest, newest))
	}
	head, ok := m.Symbol("PL_curinterp")
	if _, threads := m.Symbol("PL_thr_key"); !ok || !threads {
		return nil, unknown("it is a build without support for threads")
	}
	for _, other := range p.Modules {
		if strings.HasSuffix(other.Path, "/threads/threads.so") {
			return nil, unknown("it has threads, each with an interpreter of its own")
		}
	}
	r.head, r.layout = head.Addr, layoutOf(minor)
	names, ok := m.Symbol("PL_op_name")
	if ok {
		r.ops, ok = r.opsOf(names)
	}
	if !ok {
		return nil, unknown("the numbers of its instructions were not found")
	}
	r.loops = []interp.Span{m.Span(loop)}
	if debug, ok := m.Symbol("Perl_runops_debug"); ok {
		r.loops = append(r.loops, m.Span(debug))
	}
	return r, nil
}

// Name implements interp.Runtime.
func (r *perl) Name() string { return r.name }

// Loop implements interp.Runtime.
func (r *perl) Loop(f callchain.Frame) bool {
	for _, s := range r.loops {
		if s.Has(f) {
			return true
		}
	}
	return false
}
