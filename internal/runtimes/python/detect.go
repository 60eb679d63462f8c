package python

import (
	"fmt"
	"path"
	"strings"

	"github.com/ringtap/ringtap/callchain"
	"github.com/ringtap/ringtap/internal/runtimes/interp"
)

type python struct {
	memory interp.Memory
	name   string
	minor  int
	layout
	head  uint64 // address of the pointer to the newest interpreter
	code  uint64 // PyCode_Type
	tid   uint64 // offset of the thread id in libc's thread structure
	libc  bool   // tid is known
	loops []interp.Span
	// handlers are the functions that run the loop's instructions, in some builds.
	handlers interp.Spans
	codes    map[uint64]*code
	files    interp.Files
	switches map[callchain.ObjectID]bool // whether an object is greenlet's library
}

// loop is the name of CPython's interpreter loop.
const loop = "_PyEval_EvalFrameDefault"

// Detect attaches to CPython if m holds CPython's own code.
func Detect(p *interp.Process, m *interp.Module) (interp.Runtime, error) {
	eval, ok := m.Symbol(loop)
	if !ok {
		return nil, nil
	}
	kind, ok := m.Symbol("PyCode_Type")
	if !ok {
		return nil, nil
	}
	r := &python{memory: p.Memory, code: kind.Addr, codes: make(map[uint64]*code), files: p.Files, switches: make(map[callchain.ObjectID]bool)}
	if why := r.version(m); why != "" {
		return nil, &interp.UnknownError{Name: r.name, Why: why, Help: r.help()}
	}
	if why := r.find(p, m); why != "" {
		return nil, &interp.UnknownError{Name: r.name, Why: why, Help: r.help()}
	}
	if r.tid, r.libc = p.ThreadID(); !r.libc && r.threadNative == 0 {
		// libc may be mapped in a moment.
		return nil, &interp.UnknownError{Name: r.name, Why: "its libc does not say where the ids of threads are"}
	}
	r.loops = m.Pieces(eval, p.Arch)
	r.handlers = findHandlers(p, m, r.loops)
	return r, nil
}

// help returns what the user can do if the layout is unknown.
func (r *python) help() string {
	if r.minor < shims {
		return ""
	}
	return "python -X perf gives its functions names in a perf map"
}

// version finds out the release. From 3.11 on it reads Py_Version; earlier releases are told
// apart by the first symbols they exported. why is "" if the release is supported.
func (r *python) version(m *interp.Module) (why string) {
	r.name = "CPython"
	if s, ok := m.Symbol("Py_Version"); ok {
		var b [4]byte
		if !r.memory.Read(s.Addr, b[:]) {
			return "its version can't be read"
		}
		r.minor, r.name = int(b[2]), fmt.Sprintf("CPython %d.%d.%d", b[3], b[2], b[1])
		const candidate = 0xc // a release candidate, which has the structures of the release
		switch {
		case b[3] != 3 || r.minor > newest || r.minor < locations:
			return fmt.Sprintf("the releases that are known are 3.%d to 3.%d", oldest, newest)
		case b[0]>>4 < candidate:
			return "it is no release but one before"
		}
		return ""
	}
	for _, first := range []struct {
		minor int
		name  string
	}{{10, "PyModule_AddObjectRef"}, {9, "PyObject_CallNoArgs"}, {8, "PyConfig_InitPythonConfig"}, {7, "_PyRuntime"}, {oldest, "PyOS_FSPath"}} {
		if _, ok := m.Symbol(first.name); ok {
			r.minor, r.name = first.minor, fmt.Sprintf("CPython 3.%d", first.minor)
			return ""
		}
	}
	return fmt.Sprintf("releases before 3.%d are not known", oldest)
}

// find finds the layout and the list of interpreters. why is "" if it succeeds.
func (r *python) find(p *interp.Process, m *interp.Module) (why string) {
	if r.minor < described {
		r.layout = layoutOf(r.minor)
	}
	if r.minor == oldest {
		head, ok := m.Symbol("PyInterpreterState_Head")
		if ok {
			r.head, ok = headOf(p, head.Addr)
		}
		if !ok {
			return "its list of interpreters was not found"
		}
		return ""
	}
	state, ok := m.Symbol("_PyRuntime")
	if !ok {
		return "it does not export _PyRuntime"
	}
	if r.minor >= described {
		b := make([]byte, offsetsSize(r.minor))
		if !r.memory.Read(state.Addr, b) {
			return "what it says of what lies where can't be read"
		}
		o, ok := parseOffsets(b, r.minor)
		if !ok {
			return "it does not say what lies where"
		}
		if r.layout, ok = o.layout(r.minor); !ok {
			return "what it says of what lies where can't be"
		}
	}
	r.head = state.Addr + r.interpreters
	return ""
}

// Name implements interp.Runtime.
func (r *python) Name() string { return r.name }

// Loop implements interp.Runtime.
func (r *python) Loop(f callchain.Frame) bool {
	for _, s := range r.loops {
		if s.Has(f) {
			return true
		}
	}
	return false
}

// Switches implements interp.Switcher. greenlet, on which gevent and eventlet are built, starts
// a new chain for each greenlet.
func (r *python) Switches(f callchain.Frame) bool {
	is, known := r.switches[f.Object]
	if !known {
		name := path.Base(r.files.Path(f.Object))
		is = strings.HasPrefix(name, "_greenlet.") || strings.HasPrefix(name, "greenlet.")
		r.switches[f.Object] = is
	}
	return is
}
