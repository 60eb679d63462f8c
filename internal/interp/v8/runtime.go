package v8

import (
	"fmt"
	"strings"

	"github.com/ringtap/ringtap/callchain"
	"github.com/ringtap/ringtap/internal/interp"
)

// Runtime is the engine in a process. It belongs to one goroutine.
type Runtime struct {
	heap       heap
	object     func() callchain.ObjectID // of the file that the builtins are in
	builtins   *builtins
	functions  map[uint64]*function
	scripts    map[uint64]*script
	owners     map[uint64]uint64 // SharedFunctionInfos by the words for their BytecodeArrays
	recent     [maxRecent]uint64 // Scripts of functions that ran last
	unowned    map[uint64]search
	scriptsRan int
	codes      []*code          // by address
	missed     map[uint64]uint8 // how often the code at a place was not found
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
	if len(b.names) == 0 {
		if where, ok := findBlob(p.Memory, m.Symbol); ok {
			b = where.builtins(func(addr uint64) (uint64, bool) { return m.Image.Offset(addr - m.Bias) })
		}
	}
	if len(b.names) == 0 {
		return nil, unknown("its symbols were stripped, so that its builtins are not known")
	}
	return newRuntime(p.Memory, l, m.Object, b), nil
}

func newRuntime(mem interp.Memory, l *layout, object func() callchain.ObjectID, b *builtins) *Runtime {
	return &Runtime{heap: heap{&lines{mem: mem}, l}, object: object, builtins: b, functions: make(map[uint64]*function), scripts: make(map[uint64]*script), owners: make(map[uint64]uint64), unowned: make(map[uint64]search), missed: make(map[uint64]uint8)}
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
	columnR12 = 12 // the BytecodeArray that is entered
)

// Step is of interp.Stepper.
func (r *Runtime) Step(dst []interp.Level, a *callchain.Activation) []interp.Level {
	if a.Exact { // a sample begins
		r.heap.mem.forget()
	}
	builtin := ""
	if a.Place.Object == r.object() {
		if builtin = r.builtins.at(a.Place.Offset); builtin == "" {
			return dst
		}
	} else if !a.Generated {
		return dst
	}
	at := r.enter(a, builtin)
	switch {
	case builtin == "":
		return r.generated(dst, at, a)
	case interprets(builtin) && !at.made:
		if f := r.entering(at, builtin, a); f != nil {
			return append(dst, interp.Level{Frame: f.frame(-1)})
		}
	case interprets(builtin) && at.function != 0:
		if levels := r.interpreted(dst, at, a, strings.HasSuffix(builtin, handler)); len(levels) > len(dst) {
			return levels
		}
	case a.Exact && at.made && at.function != 0:
		return r.frameless(dst, builtin, at, a)
	}
	return r.native(dst, builtin)
}

// frameless appends a builtin without a frame and what called it, whose frame it is in; a
// builtin that has one is left to the file's symbols.
func (r *Runtime) frameless(dst []interp.Level, builtin string, at entered, a *callchain.Activation) []interp.Level {
	if f := r.functionAt(r.sharedOf(at.function)); f != nil && f.builtin {
		return r.native(dst, builtin)
	}
	from := len(dst)
	dst = append(dst, interp.Level{Frame: interp.Frame{Function: builtinPrefix + builtin}})
	if c, pc := r.calledFrom(at, a); c != nil {
		dst = r.inCode(dst, c, at, a, pc, false)
	} else {
		dst = r.interpreted(dst, at, a, false)
	}
	if len(dst) == from+1 {
		return r.native(dst[:from], builtin)
	}
	return dst
}

// calledFrom is the code of the frame's function that called a builtin without a frame, and
// where the builtin returns to. The builtin may have pushed something, and what lies there
// may be old: it must be code of that function.
func (r *Runtime) calledFrom(at entered, a *callchain.Activation) (*code, uint64) {
	array, shared := r.bytecodesOf(at, a), r.sharedOf(at.function)
	for sp := a.SP; sp < a.FP+uint64(r.heap.function) && sp-a.SP < maxPushed; sp += 8 {
		pc, ok := a.Word(sp)
		if !ok || !a.Executable(pc-1) {
			continue
		}
		c := r.codeAt(pc - 1)
		switch {
		case c == nil:
		case c.bytecodes != 0 && c.bytecodes == array, c.shared.at != 0 && c.shared.word == shared+1:
			return c, pc
		}
	}
	return nil, 0
}

// maxPushed bounds what a builtin without a frame has pushed above where it returns to.
const maxPushed = 16 * 8

// native appends a builtin in a frame of its own, if the file's symbols do not name it.
func (r *Runtime) native(dst []interp.Level, builtin string) []interp.Level {
	if r.builtins.stripped {
		dst = append(dst, interp.Level{Frame: interp.Frame{Function: builtinPrefix + builtin}})
	}
	return dst
}

// generated appends the functions at a place of compiled code.
func (r *Runtime) generated(dst []interp.Level, at entered, a *callchain.Activation) []interp.Level {
	pc := a.PC
	if !a.Exact {
		pc--
	}
	marker, _ := a.Word(a.FP + uint64(r.heap.marker))
	switch {
	case !at.made:
	case marker == r.heap.regexp:
		return append(dst, interp.Level{Frame: interp.Frame{Function: "[regexp]"}})
	case marker == r.heap.wasm:
		return append(dst, interp.Level{Frame: interp.Frame{Function: "[wasm]"}})
	}
	switch c := r.codeAt(pc); {
	case c == nil:
		return dst
	case c.kind == regexpKind:
		return append(dst, interp.Level{Frame: interp.Frame{Function: "[regexp]"}})
	default:
		return r.inCode(dst, c, at, a, a.PC, a.Exact)
	}
}

// inCode appends the functions at a place of code that is known.
func (r *Runtime) inCode(dst []interp.Level, c *code, at entered, a *callchain.Activation, pc uint64, exact bool) []interp.Level {
	if len(c.positions) > 0 {
		return r.compiled(dst, c, pc, exact)
	}
	f := r.functionBy(c.shared)
	if f == nil {
		array := c.bytecodes
		if array == 0 {
			array = r.bytecodesOf(at, a)
		}
		f = r.owner(at.function, array)
	}
	if f == nil {
		return dst
	}
	if len(c.inlined) > 0 {
		dst = append(dst, interp.Level{Frame: interp.Frame{Function: mayBeInlined}})
	}
	return append(dst, interp.Level{Frame: f.frame(-1), Offset: pc - c.start})
}

// mayBeInlined stands for the calls that may run at a place of code without positions, into
// which some were inlined: Maglev's of V8 12.4 to the first 13.6.
const mayBeInlined = "[inlined?]"

const (
	handler    = "Handler"
	trampoline = "InterpreterEntryTrampoline"
	// outOfLine is called by baseline code to make the code's frame.
	outOfLine = "BaselineOutOfLinePrologue"
)

// interprets tells by its name whether a builtin runs bytecodes, in frames of the functions
// that they are of.
func interprets(builtin string) bool {
	return strings.HasSuffix(builtin, handler) || strings.HasPrefix(builtin, trampoline) || strings.HasPrefix(builtin, "Baseline")
}

// entered is what is known of a frame.
type entered struct {
	function uint64 // its JSFunction, 0 if it has none
	making   bool   // it is being made; the caller is another one
	made     bool   // all of it lies on the stack
}

// enter says where the caller of a frame goes on, and which frame it is.
func (r *Runtime) enter(a *callchain.Activation, builtin string) entered {
	if a.Exact {
		running, _ := a.Register(columnRDI)
		switch r.shapeOf(a) {
		case before:
			pc, ok := a.Word(a.SP)
			if caller, ok2 := a.Word(a.SP + 8); ok && ok2 && strings.HasPrefix(builtin, outOfLine) && r.baseline(pc) {
				a.Leave(caller, a.SP+16, a.FP)
				return entered{function: running, making: true}
			}
			if ok {
				a.Leave(pc, a.SP+8, a.FP)
			}
			return entered{function: running}
		case pushed:
			fp, ok := a.Word(a.SP)
			pc, ok2 := a.Word(a.SP + 8)
			if ok && ok2 {
				a.Leave(pc, a.SP+16, fp)
			}
			return entered{function: running}
		case after:
			pc, ok := a.Word(a.SP)
			if !ok || !a.Executable(pc-1) {
				pc, ok = a.Register(columnR10)
			}
			if ok {
				a.Leave(pc, a.SP+8, a.FP)
			}
			return entered{}
		}
		if a.SP > a.FP+uint64(r.heap.function) && a.SP <= a.FP {
			r.follow(a)
			return entered{function: running, making: true}
		}
	}
	if !r.follow(a) {
		return entered{}
	}
	marker, ok := a.Word(a.FP + uint64(r.heap.marker))
	if _, context := object(marker); !ok || !context {
		return entered{made: true}
	}
	function, _ := a.Word(a.FP + uint64(r.heap.function))
	return entered{function: function, made: true}
}

// baseline tells whether a place that is returned to is in code of the baseline compiler.
func (r *Runtime) baseline(pc uint64) bool {
	c := r.codeAt(pc - 1)
	return c != nil && c.shared.at == 0 && c.kind != regexpKind
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

// interpreted appends a function that runs as bytecode. A handler has the place of the
// bytecode in a register.
func (r *Runtime) interpreted(dst []interp.Level, at entered, a *callchain.Activation, inHandler bool) []interp.Level {
	array := r.bytecodesOf(at, a)
	f := r.owner(at.function, array)
	if f == nil {
		return dst
	}
	word, _ := a.Word(a.FP + uint64(r.heap.bytecodeOffset))
	offset, ok := small(word)
	if now, known := a.Register(columnR9); inHandler && a.Exact && known {
		offset, ok = int64(now), true
	}
	offset -= int64(r.heap.bytecodes) - 1 // it counts from the object, as tagged
	if !ok || offset < 0 || offset > maxBytecodes {
		return append(dst, interp.Level{Frame: f.frame(-1)})
	}
	return append(dst, interp.Level{Frame: f.frame(r.heap.position(array, offset)), Offset: uint64(offset)})
}
