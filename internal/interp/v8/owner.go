package v8

import (
	"slices"
	"strings"

	"github.com/ringtap/ringtap/callchain"
)

// A frame has the JSFunction that it is of. It may be gone when it is read: a closure that
// is made anew for each call lives for a moment only, and then another object lies there.
// The BytecodeArray that a frame has too stays where it is, and so does compiled code. So a
// function is believed only if it leads to that.

const (
	maxOwners = 1 << 16 // that are remembered
	maxRecent = 8
	maxListed = 1 << 12 // functions of a script that are looked at
)

// bytecodesOf is the word for the BytecodeArray of a frame, 0 if it is not on the stack.
func (r *Runtime) bytecodesOf(at entered, a *callchain.Activation) uint64 {
	slot := a.FP + uint64(r.heap.bytecodeArray)
	if !at.made || a.Exact && a.SP > slot {
		return 0
	}
	array, _ := a.Word(slot)
	return array
}

// entering is the function that a builtin makes a frame for, whose BytecodeArray is in a
// register by then; nil if that is still the caller's, or the builtin works for a frame that
// follows. A handler makes one for itself.
func (r *Runtime) entering(at entered, builtin string, a *callchain.Activation) *function {
	if !at.making && !strings.HasPrefix(builtin, trampoline) || strings.HasSuffix(builtin, handler) {
		return nil
	}
	array, ok := a.Register(r.machine.array)
	if shared := r.sharedOf(at.function); ok && array != 0 && r.owns(shared, array) {
		return r.own(shared, array)
	}
	return nil
}

// owner is the function of a BytecodeArray, to which a word points: the one of a JSFunction,
// or one that is known, or one of the scripts that ran last. It is nil if there is none.
func (r *Runtime) owner(function, array uint64) *function {
	at, ok := object(array)
	if !ok {
		return nil
	}
	known := r.owners[array]
	if kind := r.heap.typeOf(at); kind != r.heap.isBytecodes {
		if kind == noType && known != 0 && r.heap.u64(at) == 0 { // the process has ended
			return r.functionAt(known)
		}
		return nil
	}
	for _, shared := range [...]uint64{r.sharedOf(function), known} {
		if r.owns(shared, array) {
			return r.own(shared, array)
		}
	}
	if !r.worthASearch(array) {
		return nil
	}
	for _, script := range append([]uint64{r.scriptOf(at)}, r.recent[:]...) {
		r.list(script)
		if shared := r.owners[array]; shared != known && r.owns(shared, array) {
			return r.own(shared, array)
		}
	}
	return nil
}

// search is what is known of a BytecodeArray whose owner was not found.
type search struct {
	scripts int // that had run when it was looked for
	frames  int // of it
}

// worthASearch tells whether to look for the owner of a BytecodeArray: a script has run
// that had not, or twice as many frames wait for a name. Functions are compiled when they
// are called first, so that a script has more of them each time.
func (r *Runtime) worthASearch(array uint64) bool {
	last, looked := r.unowned[array]
	if len(r.unowned) >= maxOwners {
		clear(r.unowned)
	}
	now := search{r.scriptsRan, last.frames + 1}
	r.unowned[array] = now
	return !looked || last.scripts != now.scripts || now.frames&last.frames == 0
}

// scriptOf is the Script that a BytecodeArray at an address is of, if its function makes others:
// these are among its constants. It is 0 if there are none.
func (r *Runtime) scriptOf(array uint64) uint64 {
	h := &r.heap
	for field := uint64(8); field < h.bytecodes; field += 8 {
		pool, ok := h.field(array, field, h.isArray[:]...)
		if !ok {
			continue
		}
		n, _ := small(h.u64(pool + h.arrayLength))
		for i := range uint64(max(0, min(n, maxListed))) {
			shared, ok := h.field(pool, h.arrayData+8*i, h.isShared)
			if !ok {
				continue
			}
			if script, ok := h.field(shared, h.script, h.isScript); ok {
				return script
			}
		}
	}
	return 0
}

// own is a function that is the owner of a BytecodeArray.
func (r *Runtime) own(shared, array uint64) *function {
	r.note(shared, array)
	f := r.functionAt(shared)
	if f != nil && f.scriptAt != 0 && f.scriptAt != r.recent[0] {
		i := slices.Index(r.recent[:], f.scriptAt)
		if i < 0 {
			i = maxRecent - 1
			r.scriptsRan++
		}
		copy(r.recent[1:i+1], r.recent[:i])
		r.recent[0] = f.scriptAt
	}
	return f
}

// note remembers the owner of a BytecodeArray.
func (r *Runtime) note(shared, array uint64) {
	if len(r.owners) >= maxOwners {
		clear(r.owners)
	}
	r.owners[array] = shared
}

// sharedOf is the SharedFunctionInfo of a JSFunction; 0 if a word is no pointer.
func (r *Runtime) sharedOf(word uint64) uint64 {
	at, ok := object(word)
	if !ok {
		return 0
	}
	shared, _ := object(r.heap.u64(at + r.heap.shared))
	return shared
}

// owns tells whether a function has a BytecodeArray, itself or by its baseline code.
func (r *Runtime) owns(shared, array uint64) bool {
	return shared != 0 && r.heap.typeOf(shared) == r.heap.isShared && r.arrayOf(shared) == array
}

// arrayOf is the word for the BytecodeArray of a SharedFunctionInfo, 0 if it has none.
func (r *Runtime) arrayOf(shared uint64) uint64 {
	h := &r.heap
	data := h.u64(shared + h.data)
	if _, ok := h.typed(data, h.isBytecodes); ok {
		return data
	}
	at, ok := object(data)
	if !ok {
		return 0
	}
	slot := at + h.deopt // of a Code
	if h.typeOf(at) != h.isCode {
		slot = at + baselineBytecodes
	}
	array := h.u64(slot)
	if _, ok := h.typed(array, h.isBytecodes); !ok {
		return 0
	}
	return array
}

// baselineBytecodes is where V8 9 has the BytecodeArray of baseline code, in a BaselineData
// (src/objects/shared-function-info.tq).
const baselineBytecodes = 16

// list notes the owners of all BytecodeArrays of a script.
func (r *Runtime) list(script uint64) {
	h := &r.heap
	if script == 0 || h.typeOf(script) != h.isScript {
		return
	}
	infos, ok := h.field(script, h.infos, h.isArray[:]...)
	if !ok {
		return
	}
	n, _ := small(h.u64(infos + h.arrayLength))
	for i := range uint64(max(0, min(n, maxListed))) {
		const weak = 2
		shared, ok := h.typed(h.u64(infos+h.arrayData+8*i)&^weak, h.isShared)
		if !ok {
			continue
		}
		if array := r.arrayOf(shared); array != 0 {
			r.note(shared, array)
		}
	}
}
