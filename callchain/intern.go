package callchain

import (
	"math/bits"
	"math/rand/v2"
	"slices"
)

// StackID names an interned chain: dense, from zero, in the order of first
// appearance. After Interner.Sweep the ids of chains that are gone name new ones.
type StackID uint32

// chunkFrames is the number of frames that are allocated at once: 64 KiB.
const chunkFrames = 4096

// Interner keeps each distinct chain once. Frames lie in chunks that never
// move, so that growing copies nothing but the index; a chain that is there
// already costs one hash and one comparison, and no allocation. It must not be
// used by two goroutines at a time.
type Interner struct {
	seed   uint64
	stacks []stack  // by id; those not used are free
	count  int      // of chains
	next   int      // no id below it is free
	index  []uint32 // open addressing: StackID + 1, zero for a free place
	chunk  []Frame  // of the chunk under way, what is not in use yet
	frames int      // allocated
}

type stack struct {
	hash      uint64
	frames    []Frame
	truncated bool
	used      bool
	kept      bool // through the next Sweep
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
	if crowded(in.count+1, len(in.index)) {
		in.reindex()
	}
	hash := in.hash(frames, truncated)
	at, found := in.find(hash, frames, truncated)
	if found {
		return StackID(in.index[at] - 1)
	}
	for in.next < len(in.stacks) && in.stacks[in.next].used {
		in.next++
	}
	if in.next == len(in.stacks) {
		in.stacks = append(in.stacks, stack{})
	}
	in.stacks[in.next] = stack{hash: hash, frames: in.copy(frames), truncated: truncated, used: true}
	in.count++
	in.index[at] = uint32(in.next + 1)
	return StackID(in.next)
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
// Interner and must not be changed. Whoever has them may keep them; the id is good
// until a Sweep that it is not kept through.
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
func (in *Interner) Len() int { return in.count }

// Bytes is the memory that the chains and their index take.
func (in *Interner) Bytes() int {
	return in.frames*16 + cap(in.stacks)*48 + cap(in.index)*4
}

// Keep has a chain outlive the next Sweep.
func (in *Interner) Keep(id StackID) { in.stacks[id].kept = true }

// Sweep forgets all chains but those that Keep was called for since the last Sweep,
// and gives their memory back. Those that are kept have the ids that they had.
func (in *Interner) Sweep() {
	old := in.stacks
	for len(old) > 0 && !old[len(old)-1].kept {
		old = old[:len(old)-1]
	}
	*in = Interner{seed: in.seed}
	if len(old) == 0 {
		return
	}
	in.stacks = make([]stack, len(old))
	for id, s := range old {
		if s.kept {
			s.frames, s.kept = in.copy(s.frames), false
			in.stacks[id] = s
			in.count++
		}
	}
	in.reindex()
}

// copy copies frames into the chunk under way.
func (in *Interner) copy(frames []Frame) []Frame {
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

// crowded says that an index of that length is too full for so many chains.
func crowded(chains, length int) bool { return 4*chains > 3*length }

// reindex makes an index with room for one chain more, at least.
func (in *Interner) reindex() {
	length := 1024
	for crowded(in.count+1, length) {
		length *= 2
	}
	in.index = make([]uint32, length)
	mask := uint64(length - 1)
	for id := range in.stacks {
		if !in.stacks[id].used {
			continue
		}
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
		hi, lo := bits.Mul64(h^f.PC(), in.seed^uint64(f.Object)<<32^0x9e3779b97f4a7c15)
		h = hi ^ lo + uint64(f.Object)
	}
	hi, lo := bits.Mul64(h^uint64(len(frames)), 0xd6e8feb86659fd93)
	return hi ^ lo
}
