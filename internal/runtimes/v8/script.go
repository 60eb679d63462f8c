package v8

import (
	"encoding/binary"
	"sort"
)

// script is a source file.
type script struct {
	cookie [2]uint64 // pointers to its name and its source
	name   string
	ends   []int // ends of its lines, in characters; nil if unknown
}

const (
	maxScripts = 1 << 12 // that are cached
	maxLines   = 1 << 20
)

// scriptAt returns the Script at addr. The line ends come from the engine if it has computed
// them, otherwise from the source.
func (r *Runtime) scriptAt(addr uint64) *script {
	h := &r.heap
	cookie := [2]uint64{h.u64(addr + h.scriptName), h.u64(addr + h.scriptSource)}
	if s := r.scripts[addr]; s != nil && s.cookie == cookie {
		return s
	}
	s := &script{cookie: cookie}
	if of, ok := object(cookie[0]); ok {
		s.name, _ = h.text(of, maxText)
	}
	s.ends = h.lineEndsOf(addr)
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
	r.scripts[addr] = s
	return s
}

// lineEndsOf returns the ends of a script's lines, or nil if the engine has not computed them.
func (h *heap) lineEndsOf(addr uint64) []int {
	array, ok := h.field(addr, h.lineEnds, h.isArray[0])
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

// endsIn finds the ends of lines in a source. Like JavaScript it counts UTF-16 code units.
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

// line returns the line of a source position, from 1, or 0 if unknown.
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
