package v8

import (
	"fmt"
	"slices"
	"strings"

	"github.com/ringtap/ringtap/callchain"
	"github.com/ringtap/ringtap/internal/runtimes/interp"
)

// Runtime is the engine in a process. It belongs to one goroutine.
type Runtime struct {
	heap       heap
	machine    *machine
	object     func() callchain.ObjectID // of the file with the builtins
	builtins   *builtins
	functions  map[uint64]*function
	scripts    map[uint64]*script
	owners     map[uint64]uint64 // SharedFunctionInfos by the pointers to their BytecodeArrays
	recent     [maxRecent]uint64 // Scripts of the functions that ran last
	unowned    map[uint64]search
	scriptsRan int
	codes      []*code          // sorted by address
	missed     map[uint64]uint8 // how often the code at an address was not found
}

// Detect attaches to the engine in a module. It returns nil without an error if m is not one.
func Detect(p *interp.Process, m *interp.Module) (interp.Stepper, error) {
	if _, ok := m.Symbol("v8dbg_frametype_EntryFrame"); !ok {
		return nil, nil
	}
	machine := machineOf(p.Arch)
	if machine == nil {
		return nil, unknown(fmt.Sprintf("its frames are not known on %v", p.Arch))
	}
	v, ok := readVersion(p.Memory, m.Symbol)
	if !ok {
		return nil, unknown("it does not export its version")
	}
	if !machine.knows(v) {
		return nil, unknown(fmt.Sprintf("it is version %d.%d, whose frames on %v are not known", v.major, v.minor, p.Arch))
	}
	l, err := newLayout(&reader{mem: p.Memory, symbol: m.Symbol}, v)
	if err != nil {
		return nil, unknown(err.Error())
	}
	b, err := readBuiltins(m.Image)
	if err != nil {
		return nil, unknown(fmt.Sprintf("read its symbols: %v", err))
	}
	if len(b.names) == 0 && machine.exported {
		if where, ok := findBlob(p.Memory, m.Symbol); ok {
			b = where.builtins(func(addr uint64) (uint64, bool) { return m.Image.Offset(addr - m.Bias) })
		}
	}
	if len(b.names) == 0 {
		return nil, unknown("its symbols were stripped, so that its builtins are not known")
	}
	return newRuntime(p.Memory, machine, l, m.Object, b), nil
}

func newRuntime(mem interp.Memory, machine *machine, l *layout, object func() callchain.ObjectID, b *builtins) *Runtime {
	return &Runtime{heap: heap{&lines{mem: mem}, l}, machine: machine, object: object, builtins: b, functions: make(map[uint64]*function), scripts: make(map[uint64]*script), owners: make(map[uint64]uint64), unowned: make(map[uint64]search), missed: make(map[uint64]uint8)}
}

func unknown(why string) error {
	return &interp.UnknownError{Name: "V8", Why: why, Help: "node --perf-basic-prof writes a map of its code"}
}

// Name implements interp.Stepper.
func (r *Runtime) Name() string { return "V8" }

// Step implements interp.Stepper.
func (r *Runtime) Step(dst []interp.Level, a *callchain.Activation) []interp.Level {
	if a.Exact { // a new sample
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

// frameless appends a builtin without a frame, and the function that called it, whose frame is
// the current one. A builtin with a frame is named by the file's symbols.
func (r *Runtime) frameless(dst []interp.Level, builtin string, e entered, a *callchain.Activation) []interp.Level {
	if f := r.functionAt(r.sharedOf(e.function)); f != nil && f.builtin {
		return r.native(dst, builtin)
	}
	from := len(dst)
	dst = append(dst, interp.Level{Frame: interp.Frame{Function: builtinPrefix + builtin}})
	if c, pc := r.calledFrom(e, a); c != nil {
		dst = r.inCode(dst, c, e, a, pc, false)
	} else {
		dst = r.interpreted(dst, e, a, false)
	}
	if len(dst) == from+1 {
		return r.native(dst[:from], builtin)
	}
	return dst
}

// calledFrom returns the code that called a builtin without a frame, and the return address.
// The builtin may have pushed words, and words on the stack may be old. So the code must belong
// to the frame's function.
func (r *Runtime) calledFrom(e entered, a *callchain.Activation) (*code, uint64) {
	array, shared := r.bytecodesOf(e, a), r.sharedOf(e.function)
	callers := func(pc uint64) *code {
		if !a.Executable(pc - 1) {
			return nil
		}
		c := r.codeAt(pc - 1)
		if c != nil && (c.bytecodes != 0 && c.bytecodes == array || c.shared.at != 0 && c.shared.word == shared+1) {
			return c
		}
		return nil
	}
	if pc, ok := r.machine.linked(a); ok {
		if c := callers(pc); c != nil {
			return c, pc
		}
	}
	for sp := a.SP; sp < a.FP+uint64(r.heap.function) && sp-a.SP < maxPushed; sp += 8 {
		if pc, ok := a.Word(sp); ok {
			if c := callers(pc); c != nil {
				return c, pc
			}
		}
	}
	return nil, 0
}

// maxPushed bounds, in bytes, what a builtin without a frame may have pushed below its return
// address.
const maxPushed = 16 * 8

// native appends a builtin with its own frame, unless the file's symbols name it.
func (r *Runtime) native(dst []interp.Level, builtin string) []interp.Level {
	if r.builtins.stripped {
		dst = append(dst, interp.Level{Frame: interp.Frame{Function: builtinPrefix + builtin}})
	}
	return dst
}

// generated appends the functions at a place of compiled code.
func (r *Runtime) generated(dst []interp.Level, e entered, a *callchain.Activation) []interp.Level {
	pc := a.PC
	if !a.Exact {
		pc--
	}
	marker, _ := a.Word(a.FP + uint64(r.heap.marker))
	switch {
	case !e.made:
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
		return r.inCode(dst, c, e, a, a.PC, a.Exact)
	}
}

// inCode appends the functions at a place in c.
func (r *Runtime) inCode(dst []interp.Level, c *code, e entered, a *callchain.Activation, pc uint64, exact bool) []interp.Level {
	if len(c.positions) > 0 {
		return r.compiled(dst, c, pc, exact)
	}
	f := r.functionBy(c.shared)
	if f == nil {
		array := c.bytecodes
		if array == 0 {
			array = r.bytecodesOf(e, a)
		}
		f = r.owner(e.function, array)
	}
	if f == nil {
		return dst
	}
	if len(c.inlined) > 0 {
		dst = append(dst, interp.Level{Frame: interp.Frame{Function: mayBeInlined}})
	}
	return append(dst, interp.Level{Frame: f.frame(-1), Offset: pc - c.start})
}

// mayBeInlined stands for inlined calls that may be running, in code with inlined calls but
// without positions: Maglev's code from V8 12.4 to the first 13.6.
const mayBeInlined = "[inlined?]"

const (
	handler     = "Handler"
	trampoline  = "InterpreterEntryTrampoline"
	entersAgain = "InterpreterEnterAt" // after an exception, or after deoptimization
	// outOfLine makes the frame of the baseline code that calls it.
	outOfLine = "BaselineOutOfLinePrologue"
)

// interprets reports whether a builtin runs bytecodes in the frames of their functions, going
// by its name.
func interprets(builtin string) bool {
	return strings.HasSuffix(builtin, handler) || strings.HasPrefix(builtin, trampoline) || strings.HasPrefix(builtin, entersAgain) || strings.HasPrefix(builtin, "Baseline")
}

// entered is what is known of a frame.
type entered struct {
	function uint64 // its JSFunction, 0 if it has none
	making   bool   // the frame is being made; the caller is another frame
	made     bool   // the frame is completely on the stack
}

// enter finds a frame's caller and returns what is known of the frame.
func (r *Runtime) enter(a *callchain.Activation, builtin string) entered {
	if a.Exact {
		running, _ := a.Register(r.machine.function)
		switch of, below := r.shapeOf(a, builtin); of {
		case before, pushed:
			if strings.HasPrefix(builtin, outOfLine) && r.leaveOutOfLine(a) {
				return entered{function: running, making: true}
			}
			r.machine.leave(a, of, below)
			return entered{function: running}
		case after:
			r.machine.leave(a, of, below)
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

// baseline reports whether a return address is in code of the baseline compiler.
func (r *Runtime) baseline(pc uint64) bool {
	c := r.codeAt(pc - 1)
	return c != nil && c.shared.at == 0 && c.kind != regexpKind
}

// leaveOutOfLine leaves the builtin that makes a frame for baseline code, together with that
// code, which has no frame yet. It returns false if it has one.
func (r *Runtime) leaveOutOfLine(a *callchain.Activation) bool {
	pc, ok := a.Word(a.SP)
	caller, ok2 := a.Word(a.SP + 8)
	if !r.machine.makesOutOfLine || !ok || !ok2 || !r.baseline(pc) {
		return false
	}
	a.Leave(caller, a.SP+16, a.FP)
	return true
}

// follow leaves a frame by its frame pointer.
func (r *Runtime) follow(a *callchain.Activation) bool {
	fp, ok := a.Word(a.FP)
	pc, ok2 := a.Word(a.FP + 8)
	if !ok || !ok2 || a.FP < a.SP || a.FP%8 != 0 {
		return false
	}
	sp := a.FP + 16
	if marker, ok := a.Word(a.FP + uint64(r.heap.marker)); ok && slices.Contains(r.heap.entry[:], marker) {
		sp += r.machine.entrySaves
	}
	a.Leave(pc, sp, fp)
	return true
}

// interpreted appends a function that runs as bytecode. A handler has the bytecode's offset in
// a register.
func (r *Runtime) interpreted(dst []interp.Level, e entered, a *callchain.Activation, inHandler bool) []interp.Level {
	array := r.bytecodesOf(e, a)
	f := r.owner(e.function, array)
	if f == nil {
		return dst
	}
	word, _ := a.Word(a.FP + uint64(r.heap.bytecodeOffset))
	offset, ok := small(word)
	if now, known := a.Register(r.machine.bytecode); inHandler && a.Exact && known {
		offset, ok = int64(now), true
	}
	offset -= int64(r.heap.bytecodes) - 1 // it counts from the tagged pointer to the object
	if !ok || offset < 0 || offset > maxBytecodes {
		return append(dst, interp.Level{Frame: f.frame(-1)})
	}
	return append(dst, interp.Level{Frame: f.frame(r.heap.position(array, offset)), Offset: uint64(offset)})
}
