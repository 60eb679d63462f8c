package goroutine

import (
	"encoding/binary"
	"errors"
	"fmt"
	"slices"
)

// Bounds for untrusted data.
const (
	maxGoroutines = 1 << 24  // ever, in the list
	maxBSS        = 64 << 20 // bytes searched for the list; the linker puts small variables first
	maxCandidates = 1 << 16  // slices there that may be the list
	maxLists      = 8        // of these, how many may begin like the list
	maxStack      = 1 << 40  // bytes between the bounds of a stack
)

// errMoved is returned when the list changes during each attempt to read it.
var errMoved = errors.New("the list of goroutines changed while it was read, each time")

// attempts is how often to read something that may change meanwhile.
const attempts = 4

// slice is a Go slice variable.
type slice struct{ array, len, cap uint64 }

func sliceAt(b []byte) slice {
	return slice{binary.LittleEndian.Uint64(b), binary.LittleEndian.Uint64(b[8:]), binary.LittleEndian.Uint64(b[16:])}
}

// plausible reports whether s can be the list of goroutines.
func (s slice) plausible() bool {
	return s.array != 0 && s.array%8 == 0 && s.len > 0 && s.len <= s.cap && s.cap <= maxGoroutines
}

// goroutines returns the addresses of all runtime.g that ever existed.
func (r *Runtime) goroutines() ([]uint64, error) {
	if r.list == 0 {
		return r.search()
	}
	for range attempts {
		var b [24]byte
		ok, err := readAt(r.memory, r.list, b[:])
		if err != nil {
			return nil, err
		}
		s := sliceAt(b[:])
		if !ok || s.len == 0 {
			return nil, nil
		}
		if !s.plausible() {
			continue
		}
		if list, err := r.elements(s); list != nil || err != nil {
			return list, err
		}
	}
	return nil, fmt.Errorf("%s: %w", r.Path, errMoved)
}

// elements reads the addresses in a list. It returns nil if some are missing or invalid.
func (r *Runtime) elements(s slice) ([]uint64, error) {
	b := make([]byte, min(s.len*8, 1<<20))
	list := make([]uint64, 0, len(b)/8) // s.len may be larger than the real list
	for done := uint64(0); done < s.len; {
		n := min(s.len-done, uint64(len(b))/8)
		ok, err := readAt(r.memory, s.array+done*8, b[:n*8])
		if err != nil || !ok {
			return nil, err
		}
		for i := range n {
			g := binary.LittleEndian.Uint64(b[i*8:])
			if g == 0 || g%8 != 0 {
				return nil, nil
			}
			list = append(list, g)
		}
		done += n
	}
	return list, nil
}

// search finds the list in a program without symbols. It is a slice among the variables whose
// elements prove to be goroutines, and whose array another variable, runtime.allgptr, points
// at. The garbage collector may have a copy of the list, but nothing points at that array.
func (r *Runtime) search() ([]uint64, error) {
	b := make([]byte, min(r.bss.size, maxBSS)&^7)
	for range attempts {
		if ok, err := readAt(r.memory, r.bss.addr, b); err != nil || !ok {
			return nil, err
		}
		words := make(map[uint64]int) // how often a candidate's array pointer occurs
		var candidates []slice
		for at := 0; at+24 <= len(b) && len(candidates) < maxCandidates; at += 8 {
			if s := sliceAt(b[at:]); s.plausible() {
				candidates = append(candidates, s)
				words[s.array] = 0
			}
		}
		for at := 0; at+8 <= len(b); at += 8 {
			w := binary.LittleEndian.Uint64(b[at:])
			if n, ok := words[w]; ok {
				words[w] = n + 1
			}
		}
		candidates = slices.DeleteFunc(candidates, func(s slice) bool { return words[s.array] < 2 })
		list, err := r.choose(candidates)
		if list != nil || err != nil {
			return list, err
		}
	}
	return nil, nil
}

// choose returns the candidate that is the list of goroutines, or nil if none is. If two have
// the same array, it takes the longer one. If two different arrays qualify, it returns nil.
func (r *Runtime) choose(candidates []slice) (list []uint64, err error) {
	var array uint64
	lists := 0
	for _, s := range candidates {
		if s.array == array && s.len <= uint64(len(list)) {
			continue
		}
		ok, err := r.all(slice{s.array, min(s.len, 8), s.cap}) // most are not lists, and the first elements show it
		if err != nil {
			return nil, err
		}
		if !ok {
			continue
		}
		if lists++; lists > maxLists {
			return nil, nil
		}
		if ok, err = r.all(s); err != nil {
			return nil, err
		}
		if !ok {
			continue
		}
		if list != nil && s.array != array {
			return nil, nil
		}
		array = s.array
		if list, err = r.elements(s); err != nil {
			return nil, err
		}
	}
	return list, nil
}

// all reports whether the elements of a slice are goroutines, at least one of them alive. In
// long lists it checks a sample.
func (r *Runtime) all(s slice) (bool, error) {
	list, err := r.elements(s)
	if list == nil || err != nil {
		return false, err
	}
	if step := len(list) / maxSpans; step > 1 {
		for i := range maxSpans {
			list[i] = list[i*step]
		}
		list = list[:maxSpans]
	}
	return r.sane(list)
}

// sane reports whether there are goroutines at all addresses and one of them is alive. A few
// may be wrong, because they change while they are read.
func (r *Runtime) sane(list []uint64) (bool, error) {
	alive, wrong := false, 0
	var b batch
	for part := range slices.Chunk(list, maxSpans) {
		if err := r.read(&b, part); err != nil {
			return false, err
		}
		for i := range part {
			g, ok := r.parse(&b, i)
			if !ok {
				wrong++
			}
			alive = alive || ok && !isDead(g.status)
		}
		if wrong > len(list)/64 {
			return false, nil
		}
	}
	return alive, nil
}
