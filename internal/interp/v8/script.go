package v8

import (
	"encoding/binary"
	"sort"
)

// script is a file of source.
type script struct {
	cookie [2]uint64 // its name and its source
	name   string
	ends   []int // of its lines, in characters; nil if not known
}

const (
	maxScripts = 1 << 12 // that are remembered
	maxLines   = 1 << 20
)

// scriptAt is the Script at an address. Where its lines end is known if the engine has
// wanted to know it, and else read from the source.
func (r *Runtime) scriptAt(at uint64) *script {
	h := &r.heap
	cookie := [2]uint64{h.u64(at + h.scriptName), h.u64(at + h.scriptSource)}
	if s := r.scripts[at]; s != nil && s.cookie == cookie {
		return s
	}
	s := &script{cookie: cookie}
	if of, ok := object(cookie[0]); ok {
		s.name, _ = h.text(of, maxText)
	}
	s.ends = h.lineEndsOf(at)
	if s.ends == nil {
		if of, ok := object(cookie[1]); ok {
			if text, ok := h.text(of, maxChars); ok {
				s.ends = endsIn(text)
			}
		}
	}
	if len(r.scripts) >= maxScripts {
		clear(r.scripts)
	}
	r.scripts[at] = s
	return s
}

// lineEndsOf is the array of the ends of a script's lines, nil if there is none yet.
func (h *heap) lineEndsOf(at uint64) []int {
	array, ok := h.field(at, h.lineEnds, h.isArray[0])
	if !ok {
		return nil
	}
	n, ok := small(h.u64(array + h.arrayLength))
	if !ok || n <= 0 || n > maxLines {
		return nil
	}
	raw := make([]byte, 8*n)
	if !h.mem.Read(array+h.arrayData, raw) {
		return nil
	}
	ends := make([]int, n)
	for i := range ends {
		end, ok := small(binary.LittleEndian.Uint64(raw[8*i:]))
		if !ok || end < 0 || i > 0 && int(end) <= ends[i-1] {
			return nil
		}
		ends[i] = int(end)
	}
	return ends
}

// endsIn finds the ends of lines in a source. It counts as JavaScript does, in units of
// UTF-16.
func endsIn(text string) []int {
	var ends []int
	n := 0
	for _, c := range text {
		if c == '\n' && len(ends) < maxLines {
			ends = append(ends, n)
		}
		if n++; c > 0xffff {
			n++
		}
	}
	return append(ends, n)
}

// line is the line of a place in the source, from 1 on; 0 if it is not known.
func (s *script) line(position int64) int {
	if s == nil || position < 0 || len(s.ends) == 0 {
		return 0
	}
	i := sort.SearchInts(s.ends, int(position))
	if i == len(s.ends) {
		return 0
	}
	return i + 1
}
