package v8

import (
	"fmt"
	"strings"

	"github.com/ringtap/ringtap/callchain"
	"github.com/ringtap/ringtap/internal/interp"
)

// Runtime is the engine in a process. It belongs to one goroutine.
type Runtime struct {
	heap      heap
	object    func() callchain.ObjectID // of the file that the builtins are in
	builtins  *builtins
	functions map[uint64]*function
	scripts   map[uint64]*script
	shared    map[uint64]uint64 // of JSFunctions, as they were last
	codes     []*code           // by address
	missed    map[uint64]uint8  // how often the code at a place was not found
}

// Detect finds the engine that a module is; nil without an error if it is none.
func Detect(p *interp.Process, m *interp.Module) (interp.Stepper, error) {
	if _, ok := m.Symbol("v8dbg_frametype_EntryFrame"); !ok {
		return nil, nil
	}
	if p.Arch != callchain.AMD64 {
		return nil, unknown("its frames are known on amd64 only")
	}
	v, ok := readVersion(p.Memory, m.Symbol)
	if !ok {
		return nil, unknown("it does not export its version")
	}
	l, err := newLayout(&reader{mem: p.Memory, symbol: m.Symbol}, v)
	if err != nil {
		return nil, unknown(err.Error())
	}
	b, err := readBuiltins(m.Image)
	if err != nil {
		return nil, unknown(fmt.Sprintf("read its symbols: %v", err))
	}
	if where, ok := findBlob(p.Memory, m.Symbol); ok && len(b.names) == 0 {
		b = where.builtins(func(addr uint64) (uint64, bool) { return m.Image.Offset(addr - m.Bias) })
	}
	if len(b.names) == 0 {
		return nil, unknown("its symbols were stripped, so that its builtins are not known")
	}
	return newRuntime(p.Memory, l, m.Object, b), nil
}

func newRuntime(mem interp.Memory, l *layout, object func() callchain.ObjectID, b *builtins) *Runtime {
	return &Runtime{heap: heap{mem, l}, object: object, builtins: b, functions: make(map[uint64]*function), scripts: make(map[uint64]*script), shared: make(map[uint64]uint64), missed: make(map[uint64]uint8)}
}

func unknown(why string) error {
	return &interp.UnknownError{Name: "V8", Why: why, Help: "node --perf-basic-prof writes a map of its code"}
}

// Name is of interp.Stepper.
func (r *Runtime) Name() string { return "V8" }

// The columns of registers (System V psABI of amd64, 3.6.2) that V8 uses.
const (
	columnRDI = 5  // the JSFunction that is called
	columnR9  = 9  // the bytecode that runs
	columnR10 = 10 // where to return, while arguments are taken off the stack
)

// Step is of interp.Stepper.
func (r *Runtime) Step(dst []interp.Level, a *callchain.Activation) []interp.Level {
	builtin := ""
	if a.Place.Object == r.object() {
		if builtin = r.builtins.at(a.Place.Offset); builtin == "" {
			return dst
		}
	} else if !a.Generated {
		return dst
	}
	word := r.enter(a)
	if builtin == "" {
		return r.generated(dst, word, a)
	}
	f := r.functionOf(word)
	switch {
	case f == nil, f.builtin:
		return r.native(dst, builtin)
	case interprets(builtin):
		return r.interpreted(dst, f, a, strings.HasSuffix(builtin, handler))
	case a.Exact:
		// A builtin without a frame, in the frame of the function that called it.
		return append(dst, interp.Level{Frame: interp.Frame{Function: builtinPrefix + builtin}}, interp.Level{Frame: f.frame(-1)})
	}
	return r.native(dst, builtin)
}

// native appends a builtin in a frame of its own, if the file's symbols do not name it.
func (r *Runtime) native(dst []interp.Level, builtin string) []interp.Level {
	if r.builtins.stripped {
		dst = append(dst, interp.Level{Frame: interp.Frame{Function: builtinPrefix + builtin}})
	}
	return dst
}

// generated appends the functions at a place of compiled code. word is what the frame has
// for its JSFunction.
func (r *Runtime) generated(dst []interp.Level, word uint64, a *callchain.Activation) []interp.Level {
	at := a.PC
	if !a.Exact {
		at--
	}
	marker, _ := a.Word(a.FP + uint64(r.heap.marker))
	switch marker {
	case r.heap.regexp:
		return append(dst, interp.Level{Frame: interp.Frame{Function: "[regexp]"}})
	case r.heap.wasm:
		return append(dst, interp.Level{Frame: interp.Frame{Function: "[wasm]"}})
	}
	shared := r.sharedOf(word)
	f := r.functionAt(shared)
	switch c := r.codeAt(at); {
	case c == nil:
	case c.kind == regexpKind:
		return append(dst, interp.Level{Frame: interp.Frame{Function: "[regexp]"}})
	case len(c.positions) > 0:
		return r.compiled(dst, c, a)
	default:
		if f == nil {
			f = r.functionOfCode(c)
		} else {
			c.seen = shared
		}
		if f != nil {
			return append(dst, interp.Level{Frame: f.frame(-1), Offset: a.PC - c.start})
		}
	}
	if f != nil {
		return append(dst, interp.Level{Frame: f.frame(-1)})
	}
	return dst
}

const handler = "Handler"

// interprets tells by its name whether a builtin runs bytecodes, in frames of the functions
// that they are of.
func interprets(builtin string) bool {
	return strings.HasSuffix(builtin, handler) || strings.HasPrefix(builtin, "InterpreterEntryTrampoline") || strings.HasPrefix(builtin, "Baseline")
}

// enter says where the caller of a frame goes on, and returns the JSFunction that the frame
// is of, 0 if it is none's.
func (r *Runtime) enter(a *callchain.Activation) (function uint64) {
	if a.Exact {
		running, _ := a.Register(columnRDI)
		switch r.shapeOf(a) {
		case before:
			if pc, ok := a.Word(a.SP); ok {
				a.Leave(pc, a.SP+8, a.FP)
			}
			return running
		case pushed:
			fp, ok := a.Word(a.SP)
			pc, ok2 := a.Word(a.SP + 8)
			if ok && ok2 {
				a.Leave(pc, a.SP+16, fp)
			}
			return running
		case after:
			pc, ok := a.Word(a.SP)
			if !ok || !a.Executable(pc-1) {
				pc, ok = a.Register(columnR10)
			}
			if ok {
				a.Leave(pc, a.SP+8, a.FP)
			}
			return 0
		}
		if a.SP > a.FP+uint64(r.heap.function) && a.SP <= a.FP { // the frame is being made
			r.follow(a)
			return running
		}
	}
	if !r.follow(a) {
		return 0
	}
	marker, ok := a.Word(a.FP + uint64(r.heap.marker))
	if _, context := object(marker); !ok || !context {
		return 0
	}
	function, _ = a.Word(a.FP + uint64(r.heap.function))
	return function
}

// follow leaves a frame by its frame pointer.
func (r *Runtime) follow(a *callchain.Activation) bool {
	fp, ok := a.Word(a.FP)
	pc, ok2 := a.Word(a.FP + 8)
	if !ok || !ok2 || a.FP < a.SP || a.FP%8 != 0 {
		return false
	}
	a.Leave(pc, a.FP+16, fp)
	return true
}

// sharedOf is the SharedFunctionInfo of a JSFunction; 0 if the word is no pointer.
func (r *Runtime) sharedOf(word uint64) uint64 {
	at, ok := object(word)
	if !ok {
		return 0
	}
	to := r.heap.u64(at + r.heap.shared)
	if to == 0 { // the process has ended
		return r.shared[at]
	}
	shared, _ := object(to)
	if r.shared[at] != shared && r.functionAt(shared) != nil {
		if len(r.shared) >= maxFunctions {
			clear(r.shared)
		}
		r.shared[at] = shared
	}
	return shared
}

// functionOf is the function of a JSFunction; nil if the word is no pointer to one.
func (r *Runtime) functionOf(word uint64) *function { return r.functionAt(r.sharedOf(word)) }

// interpreted appends a function that runs as bytecode.
func (r *Runtime) interpreted(dst []interp.Level, f *function, a *callchain.Activation, running bool) []interp.Level {
	h := &r.heap
	word, _ := a.Word(a.FP + uint64(h.bytecodeOffset))
	offset, ok := small(word)
	if at, known := a.Register(columnR9); running && a.Exact && known {
		offset, ok = int64(at), true
	}
	offset -= int64(h.bytecodes) - 1 // it counts from the object, as tagged
	if !ok || offset < 0 || offset > maxBytecodes {
		offset = 0
	}
	array, _ := a.Word(a.FP + uint64(h.bytecodeArray))
	return append(dst, interp.Level{Frame: f.frame(h.position(array, offset)), Offset: uint64(offset)})
}
