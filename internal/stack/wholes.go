package stack

import (
	"hash/maphash"
	"math/bits"
	"slices"

	"github.com/ringtap/ringtap/callchain"
)

// wholes has whole stacks of programs. A cut stack can be replaced by the only whole stack of its
// program that starts like it. A program is identified by its name, so that all its processes count
// together.
type wholes struct {
	seed    maphash.Seed
	by      []uint64                     // by whole stack ID: the last program for which it was entered
	begins  map[uint64]callchain.StackID // by program and start of a stack; None if several stacks fit
	entered int                          // number of entries made so far
	found   map[cutStack]completion
	at      map[uint64][]callchain.StackID // whole stacks by program and stack pointer
	places  int                            // number of stacks in at
}

// cutStack is a cut stack of a program.
type cutStack struct {
	program uint64
	id      callchain.StackID
}

// completion is the whole stack found for a cut one, or None. It was looked up when wholes.entered
// was entered.
type completion struct {
	whole   callchain.StackID
	entered int
}

// maxBegins bounds the entries in begins, and beginBytes is the memory of one.
const (
	maxBegins  = 1 << 18
	beginBytes = 24
)

// maxPlaces bounds the stack pointers in at. Each process has different ones, and those of ended
// processes are useless.
const (
	maxPlaces  = 1 << 15
	placeBytes = 64
)

func newWholes() *wholes {
	return &wholes{seed: maphash.MakeSeed(), begins: make(map[uint64]callchain.StackID), found: make(map[cutStack]completion),
		at: make(map[uint64][]callchain.StackID)}
}

// begun adds a frame to the hash of the start of a stack.
func begun(hash uint64, f callchain.Frame) uint64 {
	hi, lo := bits.Mul64(hash^f.Offset, uint64(f.Object)<<32^0x9e3779b97f4a7c15)
	return hi ^ lo + uint64(f.Object)
}

func (w *wholes) bytes() int { return beginBytes*(len(w.begins)+len(w.found)) + placeBytes*w.places }

// forget forgets all stacks, because their IDs are not valid any more.
func (w *wholes) forget() {
	w.by = w.by[:0]
	clear(w.begins)
	clear(w.found)
	clear(w.at)
	w.places = 0
}

// Whole enters a whole stack of a program, which Completed may return.
func (s *Store) Whole(program string, id callchain.StackID) {
	w := s.wholes
	hash := maphash.String(w.seed, program)
	for int(id) >= len(w.by) {
		w.by = append(w.by, 0)
	}
	if w.by[id] == hash {
		return
	}
	w.by[id] = hash
	frames := s.Stack(id).Frames
	if len(w.begins)+len(frames) > maxBegins {
		return
	}
	w.entered++
	for _, f := range frames {
		hash = begun(hash, f)
		if other, ok := w.begins[hash]; !ok {
			w.begins[hash] = id
		} else if other != id {
			w.begins[hash] = None
		}
	}
}

// WholeAt is Whole, and also enters the stack pointer of the stack's leaf, for CompletedAt.
func (s *Store) WholeAt(program string, sp uint64, id callchain.StackID) {
	s.Whole(program, id)
	w := s.wholes
	at := w.place(program, sp)
	if slices.Contains(w.at[at], id) {
		return
	}
	if w.places >= maxPlaces {
		clear(w.at)
		w.places = 0
	}
	w.at[at] = append(w.at[at], id)
	w.places++
}

// place returns the key of a program and a stack pointer.
func (w *wholes) place(program string, sp uint64) uint64 {
	return begun(maphash.String(w.seed, program), callchain.Frame{Offset: sp})
}

// CompletedAt is Completed, but also works if several whole stacks start like the cut one. It then
// returns the only one that was seen with the same stack pointer. With different callers the stack
// pointer differs, because they put different things on the stack.
func (s *Store) CompletedAt(program string, sp uint64, id callchain.StackID) (callchain.StackID, bool) {
	if whole, ok := s.Completed(program, id); ok {
		return whole, true
	}
	frames, fits := s.Stack(id).Frames, None
	for _, whole := range s.wholes.at[s.wholes.place(program, sp)] {
		of := s.Stack(whole).Frames
		if len(of) < len(frames) || !slices.Equal(of[:len(frames)], frames) {
			continue
		}
		if fits != None {
			return None, false
		}
		fits = whole
	}
	return fits, fits != None
}

// Completed returns the only known whole stack of the program that starts like the cut stack id.
// Labels on the leaf of id stay. It returns false if there is no such stack, or more than one.
func (s *Store) Completed(program string, id callchain.StackID) (callchain.StackID, bool) {
	w := s.wholes
	cut := cutStack{maphash.String(w.seed, program), id}
	known, ok := w.found[cut]
	if !ok || known.whole == None && known.entered != w.entered {
		known = completion{s.complete(cut), w.entered}
		w.found[cut] = known
	}
	return known.whole, known.whole != None
}

// isMark reports whether callers are missing at a frame.
func isMark(f callchain.Frame) bool { return f.Object == callchain.Marks }

// IsPartial reports whether callers are missing from a stack: at its end, or where it has a mark.
func (s *Store) IsPartial(id callchain.StackID) bool {
	of := s.Stack(id)
	return of.Truncated || slices.ContainsFunc(of.Frames, isMark)
}

// fits reports whether a whole stack has all the frames of another one in the same order. It may have more
// frames where that one has a mark, and at the end unless frames follow the last mark. The frames that stand
// for a mark must not include either neighbour of the mark: that would be a recursion of unknown depth.
func fits(frames, whole []callchain.Frame) bool {
	var last callchain.Frame // before the mark
	for isGap := false; ; isGap = true {
		n := slices.IndexFunc(frames, isMark)
		isLast := n < 0
		if isLast {
			n = len(frames)
		}
		piece, more := frames[:n], 0
		switch {
		case len(whole) < n:
			return false
		case isGap && isLast && n > 0:
			more = len(whole) - n
		case isGap:
			for more < len(whole)-n && !slices.Equal(whole[more:more+n], piece) {
				more++
			}
		}
		if !slices.Equal(whole[more:more+n], piece) {
			return false
		}
		if gap := whole[:more]; isGap && (slices.Contains(gap, last) || n > 0 && slices.Contains(gap, piece[0])) {
			return false
		}
		if isLast {
			return true
		}
		if n > 0 {
			last = piece[n-1]
		}
		whole, frames = whole[more+n:], frames[n+1:]
	}
}

// complete is Completed, but returns None instead of false.
func (s *Store) complete(cut cutStack) callchain.StackID {
	frames := s.Stack(cut.id).Frames
	tail := 0
	for i := range frames {
		if frames[i].Object == Labels {
			tail = i + 1
		}
	}
	begin := frames[tail:]
	if i := slices.IndexFunc(begin, isMark); i >= 0 {
		begin = begin[:i]
	}
	if n := len(begin) - 1; n > 0 && slices.Contains(begin[:n], begin[n]) {
		return None // it is cut in a recursion of unknown depth
	}
	hash := cut.program
	for _, f := range begin {
		hash = begun(hash, f)
	}
	id, ok := s.wholes.begins[hash]
	if !ok || id == None || len(begin) == 0 {
		return None
	}
	whole := s.Stack(id).Frames
	if !fits(frames[tail:], whole) {
		return None
	}
	if tail == 0 {
		return id
	}
	s.frames = append(append(s.frames[:0], frames[:tail]...), whole...)
	labeled, kept := s.intern(s.frames, false)
	if !kept {
		return None
	}
	return labeled
}
