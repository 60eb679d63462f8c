package callchain

import (
	"math/bits"
	"math/rand/v2"
	"slices"
)

// StackID names an interned chain: dense, from zero, in the order of first
// appearance.
type StackID uint32

// chunkFrames is the number of frames that are allocated at once: 64 KiB.
const chunkFrames = 4096

// Interner keeps each distinct chain once. Frames lie in chunks that never
// move, so that growing copies nothing but the index; a chain that is there
// already costs one hash and one comparison, and no allocation. It must not be
// used by two goroutines at a time.
type Interner struct {
	seed   uint64
	stacks []stack
	index  []uint32 // open addressing: StackID + 1, zero for a free place
	chunk  []Frame  // of the chunk under way, what is not in use yet
	frames int      // allocated
}

type stack struct {
	hash      uint64
	frames    []Frame
	truncated bool
}

// NewInterner makes an empty Interner. Its hash is seeded at random, so that a
// program can't choose addresses that collide.
func NewInterner() *Interner {
	return &Interner{seed: rand.Uint64() | 1}
}

// Intern gives the id of a chain. truncated says that the chain's callers are
// missing; it is part of the chain's identity. The frames are copied when the
// chain is new, so that the caller may reuse them.
func (in *Interner) Intern(frames []Frame, truncated bool) StackID {
	if 4*(len(in.stacks)+1) > 3*len(in.index) {
		in.grow()
	}
	hash := in.hash(frames, truncated)
	at, found := in.find(hash, frames, truncated)
	if found {
		return StackID(in.index[at] - 1)
	}
	in.index[at] = uint32(len(in.stacks) + 1)
	in.stacks = append(in.stacks, stack{hash: hash, frames: in.keep(frames), truncated: truncated})
	return StackID(len(in.stacks) - 1)
}

// Find gives the id of a chain that is there already, and false for another.
func (in *Interner) Find(frames []Frame, truncated bool) (StackID, bool) {
	if len(in.index) == 0 {
		return 0, false
	}
	at, found := in.find(in.hash(frames, truncated), frames, truncated)
	if !found {
		return 0, false
	}
	return StackID(in.index[at] - 1), true
}

// find gives the place of a chain in the index, or the free place where it
// belongs.
func (in *Interner) find(hash uint64, frames []Frame, truncated bool) (at uint64, found bool) {
	mask := uint64(len(in.index) - 1)
	for at = hash & mask; in.index[at] != 0; at = (at + 1) & mask {
		s := &in.stacks[in.index[at]-1]
		if s.hash == hash && s.truncated == truncated && slices.Equal(s.frames, frames) {
			return at, true
		}
	}
	return at, false
}

// Stack gives the frames of an interned chain, leaf first. They belong to the
// Interner, must not be changed, and are valid until Reset.
func (in *Interner) Stack(id StackID) (frames []Frame, truncated bool) {
	s := &in.stacks[id]
	return s.frames, s.truncated
}

// Objects calls yield with the object of each frame of the chains, most of them many
// times.
func (in *Interner) Objects(yield func(ObjectID)) {
	for i := range in.stacks {
		for j := range in.stacks[i].frames {
			yield(in.stacks[i].frames[j].Object)
		}
	}
}

// Len is the number of distinct chains.
func (in *Interner) Len() int { return len(in.stacks) }

// Bytes is the memory that the chains and their index take.
func (in *Interner) Bytes() int {
	return in.frames*16 + cap(in.stacks)*48 + cap(in.index)*4
}

// Reset forgets all chains and gives their memory back.
func (in *Interner) Reset() {
	*in = Interner{seed: in.seed}
}

// keep copies frames into the chunk under way.
func (in *Interner) keep(frames []Frame) []Frame {
	if len(frames) > len(in.chunk) {
		n := max(chunkFrames, len(frames))
		in.chunk = make([]Frame, n)
		in.frames += n
	}
	kept := in.chunk[:len(frames):len(frames)]
	in.chunk = in.chunk[len(frames):]
	copy(kept, frames)
	return kept
}

// grow doubles the index.
func (in *Interner) grow() {
	in.index = make([]uint32, max(1024, 2*len(in.index)))
	mask := uint64(len(in.index) - 1)
	for id := range in.stacks {
		i := in.stacks[id].hash & mask
		for in.index[i] != 0 {
			i = (i + 1) & mask
		}
		in.index[i] = uint32(id + 1)
	}
}

// hash mixes each frame in by a 128-bit product.
func (in *Interner) hash(frames []Frame, truncated bool) uint64 {
	h := in.seed
	if truncated {
		h = ^h
	}
	for i := range frames {
		f := &frames[i]
		hi, lo := bits.Mul64(h^f.Offset, in.seed^uint64(f.Object)<<32^0x9e3779b97f4a7c15)
		h = hi ^ lo + uint64(f.Object)
	}
	hi, lo := bits.Mul64(h^uint64(len(frames)), 0xd6e8feb86659fd93)
	return hi ^ lo
}
