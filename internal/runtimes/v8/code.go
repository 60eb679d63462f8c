package v8

import (
	"encoding/binary"
	"slices"
	"sort"

	"github.com/ringtap/ringtap/internal/runtimes/interp"
)

// code is the compiled code of a function. It does not move while it runs.
type code struct {
	start, end uint64
	header     [2]uint64
	kind       uint32
	words      []reference // the words that the fields below were read through
	positions  []position
	inlined    []inlining
	shared     reference // the SharedFunctionInfo of its function; zero if the code does not tell
	bytecodes  uint64    // the pointer to its BytecodeArray; 0 if the code does not tell
}

// position says which source position runs from an offset in the code on.
type position struct {
	at  int64 // offset from the code's start
	raw uint64
}

// inlining is an inlined call: of a function, from a position.
type inlining struct {
	shared reference // the function's SharedFunctionInfo
	raw    uint64
}

const (
	alignment   = 32      // of code, in bytes, at least
	maxCode     = 1 << 20 // bytes before a place to search for the start of its code
	maxTypes    = 64      // how many objects a search checks the type of
	page        = 4096
	maxCodes    = 1 << 14 // that are cached
	maxSearches = 3       // how often to search for the code at one place
	maxInlined  = 1 << 10 // calls inlined in one function
	maxDepth    = 32      // levels of inlining

	kindMask   = 15
	regexpKind = 3 // CodeKind::REGEXP in src/objects/code-kind.h
)

// codeAt returns the code that contains an address, or nil.
func (r *Runtime) codeAt(pc uint64) *code {
	i := sort.Search(len(r.codes), func(i int) bool { return r.codes[i].start > pc })
	if i > 0 && pc < r.codes[i-1].end {
		c := r.codes[i-1]
		if now := r.header(c.start); now[0] == 0 || now == c.header && r.heap.hold(c.words) {
			return c
		}
		r.codes = slices.Delete(r.codes, i-1, i)
	}
	if r.missed[pc] >= maxSearches {
		return nil
	}
	c := r.findCode(pc)
	if c == nil {
		if len(r.missed) >= maxCodes {
			clear(r.missed)
		}
		r.missed[pc]++
		return nil
	}
	// Remove older code that was there.
	r.codes = slices.DeleteFunc(r.codes, func(old *code) bool { return old.start < c.end && c.start < old.end })
	if len(r.codes) >= maxCodes {
		r.codes = nil
	}
	i = sort.Search(len(r.codes), func(i int) bool { return r.codes[i].start > pc })
	r.codes = slices.Insert(r.codes, i, c)
	return c
}

// header returns the words that identify code: its map, and its Code object if it is separate.
func (r *Runtime) header(start uint64) (words [2]uint64) {
	at := start - r.heap.header
	words[0], words[1] = r.heap.u64(at), r.heap.u64(at+8)
	return words
}

// hold reports whether none of the words has changed.
func (h *heap) hold(words []reference) bool {
	return !slices.ContainsFunc(words, func(r reference) bool { return !h.holds(r) })
}

// findCode searches backwards from pc for the header of the code that contains it.
func (r *Runtime) findCode(pc uint64) *code {
	h := &r.heap
	var b [page]byte
	have := uint64(1) // address of the page in b; 1: none
	types := 0
	for start := pc &^ (alignment - 1); pc-start < maxCode; start -= alignment {
		// Both words are in one page: their address is a multiple of their size.
		at := start - h.header
		if low := at &^ (page - 1); low != have {
			if !h.mem.Read(low, b[:]) {
				return nil
			}
			have = low
		}
		words := b[at-have:]
		of := at // up to V8 10.8 the object itself ends with its instructions
		_, ok := object(binary.LittleEndian.Uint64(words))
		if ok && h.startAt != 0 {
			of, ok = object(binary.LittleEndian.Uint64(words[8:]))
		}
		if !ok {
			continue
		}
		if types++; types > maxTypes {
			return nil
		}
		if h.typeOf(of) != h.isCode || h.startAt != 0 && h.u64(of+h.startAt) != start {
			continue
		}
		size := uint64(h.u32(of + h.sizeAt))
		if pc-start >= size || size > maxCode {
			return nil
		}
		c := &code{start: start, end: start + size, header: r.header(start), kind: h.u32(of+h.flags) & kindMask}
		r.readCode(c, of)
		h.mem.forget()
		if r.header(start) != c.header || !h.hold(c.words) {
			return nil // it was moved or freed while we read it
		}
		return c
	}
	return nil
}

// readCode reads the Code object at addr into c: its function, its source positions, and the
// inlined calls.
func (r *Runtime) readCode(c *code, addr uint64) {
	h := &r.heap
	data := h.reference(addr + h.deopt)
	if _, ok := h.typed(data.word, h.isBytecodes); ok {
		c.bytecodes, c.words = data.word, append(c.words, data)
		return
	}
	deopt, ok := h.typed(data.word, h.isArray[:]...)
	if !ok {
		return
	}
	slot := func(i uint64) reference { return h.reference(deopt + h.arrayData + 8*i) }
	if n, ok := small(h.u64(deopt + h.arrayLength)); !ok || n <= int64(max(h.deoptShared, h.deoptInlining, h.deoptLiterals)) {
		return
	}
	shared, literals := slot(h.deoptShared), slot(h.deoptLiterals)
	c.words = append(c.words, data, shared, literals)
	if wrapper, ok := h.typed(shared.word, h.isWrapper); ok {
		shared = h.reference(wrapper + h.wrapped)
		c.words = append(c.words, shared)
	}
	c.shared = shared
	table := h.reference(addr + h.positions)
	c.words = append(c.words, table)
	if table, ok := h.typed(table.word, h.isBytes[:]...); ok {
		h.each(h.bytes(table), func(offset int64, raw uint64) bool {
			c.positions = append(c.positions, position{offset, raw})
			return true
		})
	}
	array, ok := h.typed(literals.word, h.isArray[:]...)
	inlining, ok2 := h.typed(slot(h.deoptInlining).word, h.isBytes[:]...)
	if ok && ok2 {
		c.inlined = h.inlinings(h.bytes(inlining), array)
	}
}

// inlinings reads the inlined calls: for each the position of the call, and the index of its
// function among the literals.
func (h *heap) inlinings(b []byte, literals uint64) (all []inlining) {
	const size = 16
	n, _ := small(h.u64(literals + h.arrayLength))
	for ; len(b) >= size && len(all) < maxInlined; b = b[size:] {
		one := inlining{raw: binary.LittleEndian.Uint64(b)}
		if id := int64(int32(binary.LittleEndian.Uint32(b[8:]))); id >= 0 && id < n {
			one.shared = h.reference(literals + h.arrayData + 8*uint64(id))
		}
		all = append(all, one)
	}
	return all
}

// bytes returns the content of a ByteArray.
func (h *heap) bytes(array uint64) []byte {
	n, ok := small(h.u64(array + h.arrayLength))
	if !ok || n <= 0 || n > maxPositions {
		return nil
	}
	b := make([]byte, n)
	if !h.mem.Read(array+h.arrayData, b) {
		return nil
	}
	return b
}

// place is a position in the source of a function.
type place struct {
	shared    reference
	character int64
}

// places appends the functions at a position of optimized code, innermost first.
func (c *code) places(dst []place, raw uint64) []place {
	for range maxDepth {
		character, id := decode(raw)
		if id < 0 || id >= len(c.inlined) || c.inlined[id].shared.at == 0 {
			return append(dst, place{c.shared, character})
		}
		dst = append(dst, place{c.inlined[id].shared, character})
		raw = c.inlined[id].raw
	}
	return append(dst, place{c.shared, -1})
}

// around returns the positions before and after a place of code. At a return address both are
// the position of the call.
func (c *code) around(pc uint64, exact bool) (before, after uint64, ok bool) {
	at := int64(pc - c.start)
	if !exact {
		at--
	}
	i := sort.Search(len(c.positions), func(i int) bool { return c.positions[i].at > at })
	if i == 0 {
		return 0, 0, false
	}
	before = c.positions[i-1].raw
	if !exact || c.positions[i-1].at == at {
		return before, before, true
	}
	if i == len(c.positions) {
		return 0, 0, false
	}
	return before, c.positions[i].raw, true
}

// functionBy returns the function that shared points to, if the word in memory is still the
// same or can't be read.
func (r *Runtime) functionBy(shared reference) *function {
	if shared.at == 0 {
		return nil
	}
	if now := r.heap.u64(shared.at); now != shared.word && now != 0 {
		return nil
	}
	at, _ := object(shared.word)
	return r.functionAt(at)
}

// compiled appends the functions at a place of code. For an interrupted place these are the
// functions that the positions before and after it have in common.
func (r *Runtime) compiled(dst []interp.Level, c *code, pc uint64, exact bool) []interp.Level {
	from := len(dst)
	places := []place{{c.shared, -1}}
	if before, after, ok := c.around(pc, exact); ok {
		var room, other [maxDepth + 1]place
		places = c.places(room[:0], before)
		places = places[len(places)-common(places, c.places(other[:0], after)):]
	}
	for i, p := range places {
		f := r.functionBy(p.shared)
		if f == nil {
			return dst[:from]
		}
		level := interp.Level{Frame: f.frame(p.character)}
		if i == len(places)-1 {
			level.Offset = pc - c.start
		}
		dst = append(dst, level)
	}
	return dst
}

// common returns how many of the outermost places two positions have in common. It stops after
// a function in which they are at different calls.
func common(a, b []place) int {
	n := 0
	for n < len(a) && n < len(b) {
		x, y := a[len(a)-1-n], b[len(b)-1-n]
		if x.shared.word != y.shared.word {
			break
		}
		n++
		if x.character != y.character {
			break
		}
	}
	return n
}
