package v8

import (
	"fmt"
	"path"

	"github.com/ringtap/ringtap/internal/runtimes/interp"
)

// function is what is known of a SharedFunctionInfo.
type function struct {
	cookie   [4]uint64 // its words from which the rest was read
	name     string
	script   *script // may be nil
	scriptAt uint64  // address of the script
	line     int     // where it begins, 0 if unknown
	builtin  bool    // its code is part of the engine
}

const (
	maxFunctions = 1 << 16 // that are cached
	maxLocals    = 1 << 12 // variables of a function
	manyLocals   = 75      // from this number on, variable names are in their own table
	maxNameSlots = 8       // slots that may precede a function's name
)

// functionAt returns the function of the SharedFunctionInfo at an address. It returns nil if
// that is not one, or if it can't be read and is not cached.
func (r *Runtime) functionAt(shared uint64) *function {
	if shared == 0 {
		return nil
	}
	known := r.functions[shared]
	name := r.heap.u64(shared + r.heap.name)
	if name == 0 {
		return known // the process has ended
	}
	cookie := [...]uint64{name, r.heap.u64(shared + r.heap.data), 0, r.heap.u64(shared + r.heap.script)}
	if r.heap.untrusted != 0 {
		cookie[2] = r.heap.u64(shared + r.heap.untrusted)
	}
	if r.heap.typeOf(shared) != r.heap.isShared {
		return nil
	}
	if known != nil && known.cookie == cookie {
		return known
	}
	f := r.readFunction(cookie)
	r.heap.mem.forget()
	if r.heap.u64(shared+r.heap.name) != name {
		return known // it was moved or freed while we read it
	}
	if len(r.functions) >= maxFunctions {
		clear(r.functions)
	}
	r.functions[shared] = f
	return f
}

// readFunction reads the objects that a SharedFunctionInfo's words point to: its name or scope,
// its code and its script.
func (r *Runtime) readFunction(cookie [4]uint64) *function {
	h := &r.heap
	f := &function{cookie: cookie}
	start := int64(-1)
	if at, ok := object(cookie[0]); ok {
		if h.typeOf(at) == h.isScope {
			f.name, start = h.scopeName(at)
		} else {
			f.name, _ = h.text(at, maxText)
		}
	}
	f.builtin = true
	for _, data := range cookie[1:3] {
		if _, ok := object(data); !ok {
			continue
		}
		f.builtin = false
		if at, ok := h.typed(data, h.uncompiled[:]...); ok {
			start = int64(int32(h.u32(at + h.start)))
		}
	}
	if at, ok := h.typed(cookie[3], h.isScript); ok {
		f.script, f.scriptAt = r.scriptAt(at), at
		f.line = f.script.line(start)
	}
	if f.name == "" && !f.builtin {
		f.name = "(anonymous)"
		if f.script != nil && f.script.name != "" {
			f.name = fmt.Sprintf("(anonymous) %s:%d", path.Base(f.script.name), f.line)
		}
	}
	return f
}

// scopeName returns the name in a ScopeInfo, and where its function begins in the source, or -1
// if that is unknown. After the local variables come the function's given name, if it has one,
// and its inferred name. Its start and end follow, unless they are before the variables
// (ScopeInfo in src/objects/scope-info.tq).
func (h *heap) scopeName(addr uint64) (name string, start int64) {
	slot := func(i uint64) uint64 { return h.u64(addr + h.slots + 8*i) }
	locals, ok := small(slot(h.localCount))
	if !ok || locals < 0 || locals > maxLocals {
		return "", -1
	}
	next := h.firstVariable
	start = -1
	if begin, ok := span(slot(h.begin), slot(h.begin+1)); ok && h.begin != 0 {
		start = begin
	}
	if locals < manyLocals {
		next += uint64(2 * locals)
	} else {
		next += 1 + uint64(locals)
	}
	for range maxNameSlots {
		word := slot(next)
		next++
		if begin, ok := span(word, slot(next)); ok {
			if start < 0 {
				start = begin
			}
			break
		}
		if of, ok := object(word); ok && name == "" {
			name, _ = h.text(of, maxText)
		}
	}
	return name, start
}

// span returns the start of a function in the source, if the two words are a start and an end.
func span(begin, end uint64) (start int64, ok bool) {
	start, ok = small(begin)
	to, ok2 := small(end)
	return start, ok && ok2 && start >= 0 && start < to
}

// frame returns the function's frame at a source position. A position of -1 means unknown.
func (f *function) frame(position int64) interp.Frame {
	out := interp.Frame{Function: f.name, Line: f.line}
	if f.script != nil {
		out.File = f.script.name
		if line := f.script.line(position); line > 0 {
			out.Line = line
		}
	}
	return out
}
