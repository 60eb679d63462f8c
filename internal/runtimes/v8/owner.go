package v8

import (
	"slices"
	"strings"

	"github.com/ringtap/ringtap/callchain"
)

// A frame holds its JSFunction. That object may be gone when we read it: a closure created for
// each call is short-lived, and then another object takes its place. The frame's BytecodeArray
// stays where it is, and so does compiled code. So a function is used only if it leads to
// these.

const (
	maxOwners = 1 << 16 // that are cached
	maxRecent = 8
	maxListed = 1 << 12 // functions of a script that are searched
)

// bytecodesOf returns a frame's pointer to its BytecodeArray, or 0 if it is not on the stack.
func (r *Runtime) bytecodesOf(e entered, a *callchain.Activation) uint64 {
	slot := a.FP + uint64(r.heap.bytecodeArray)
	if !e.made || a.Exact && a.SP > slot {
		return 0
	}
	array, _ := a.Word(slot)
	return array
}

// entering returns the function that a builtin is making a frame for. A register then holds the
// function's BytecodeArray. It returns nil if the register is still the caller's, or if the
// builtin works for a later frame. A handler makes a frame for itself.
func (r *Runtime) entering(e entered, builtin string, a *callchain.Activation) *function {
	if !e.making && !strings.HasPrefix(builtin, trampoline) || strings.HasSuffix(builtin, handler) {
		return nil
	}
	array, ok := a.Register(r.machine.array)
	if shared := r.sharedOf(e.function); ok && array != 0 && r.owns(shared, array) {
		return r.own(shared, array)
	}
	return nil
}

// owner returns the function of the BytecodeArray that array points to. It tries the frame's
// JSFunction, then the cache, then the functions of the array's own script and of the scripts
// that ran last. It returns nil if none fits.
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

// search describes the last search for the owner of a BytecodeArray, which failed.
type search struct {
	scripts int // how many scripts had run then
	frames  int // how many of its frames we have seen
}

// worthASearch reports whether to search for the owner of a BytecodeArray: if a new script has
// run since the last search, or the number of its frames has doubled. Functions are compiled
// when they are first called, so a script has more of them each time.
func (r *Runtime) worthASearch(array uint64) bool {
	last, looked := r.unowned[array]
	if len(r.unowned) >= maxOwners {
		clear(r.unowned)
	}
	now := search{r.scriptsRan, last.frames + 1}
	r.unowned[array] = now
	return !looked || last.scripts != now.scripts || now.frames&last.frames == 0
}

// scriptOf returns the Script of a BytecodeArray whose function creates other functions: they
// are among its constants. It returns 0 if there are none.
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

// own returns the function shared, which owns array, and remembers both.
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

// note caches the owner of a BytecodeArray.
func (r *Runtime) note(shared, array uint64) {
	if len(r.owners) >= maxOwners {
		clear(r.owners)
	}
	r.owners[array] = shared
}

// sharedOf returns the SharedFunctionInfo of a JSFunction, or 0 if word is not a pointer.
func (r *Runtime) sharedOf(word uint64) uint64 {
	at, ok := object(word)
	if !ok {
		return 0
	}
	shared, _ := object(r.heap.u64(at + r.heap.shared))
	return shared
}

// owns reports whether a function has a BytecodeArray, directly or through its baseline code.
func (r *Runtime) owns(shared, array uint64) bool {
	return shared != 0 && r.heap.typeOf(shared) == r.heap.isShared && r.arrayOf(shared) == array
}

// arrayOf returns a SharedFunctionInfo's pointer to its BytecodeArray, or 0 if there is none.
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

// baselineBytecodes is the offset of the BytecodeArray in V8 9's BaselineData
// (src/objects/shared-function-info.tq).
const baselineBytecodes = 16

// list caches the owners of all BytecodeArrays of a script.
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
