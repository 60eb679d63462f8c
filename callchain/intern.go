package callchain

import (
	"math/bits"
	"math/rand/v2"
	"slices"
)

// StackID identifies an interned chain. Ids are dense and start at zero, in the order of first
// appearance. After Interner.Sweep, new chains reuse the ids of the chains it removed.
type StackID uint32

// chunkFrames is the number of frames allocated together: 64 KiB.
const chunkFrames = 4096

// Interner keeps each distinct chain once. Frames lie in chunks that never move, so growing
// copies only the index. Looking up a known chain costs one hash and one comparison, and no
// allocation. Two goroutines must not use an Interner at the same time.
type Interner struct {
	seed   uint64
	stacks []stack  // by id; may have unused entries
	count  int      // of chains
	next   int      // all lower ids are in use
	index  []uint32 // open addressing: StackID + 1, zero for a free place
	chunk  []Frame  // unused part of the current chunk
	frames int      // allocated
}

type stack struct {
	hash      uint64
	frames    []Frame
	truncated bool
	used      bool
	kept      bool // survives the next Sweep
}

// NewInterner returns an empty Interner. Its hash has a random seed, so that a program can't
// choose addresses that collide.
func NewInterner() *Interner {
	return &Interner{seed: rand.Uint64() | 1}
}

// Intern returns the id of a chain, and adds the chain if it is new. truncated means that the
// chain's outer callers are missing; it is part of the chain's identity. The caller may reuse
// frames.
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

// Find returns the id of an interned chain, and false if the chain is not interned.
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

// find returns the slot of a chain in the index, or the free slot where it belongs.
func (in *Interner) find(hash uint64, frames []Frame, truncated bool) (slot uint64, found bool) {
	mask := uint64(len(in.index) - 1)
	for slot = hash & mask; in.index[slot] != 0; slot = (slot + 1) & mask {
		s := &in.stacks[in.index[slot]-1]
		if s.hash == hash && s.truncated == truncated && slices.Equal(s.frames, frames) {
			return slot, true
		}
	}
	return slot, false
}

// Stack returns the frames of an interned chain, leaf first. The caller may keep them but must
// not change them. The id is valid until a Sweep without a Keep of this id.
func (in *Interner) Stack(id StackID) (frames []Frame, truncated bool) {
	s := &in.stacks[id]
	return s.frames, s.truncated
}

// Objects calls yield with the object of every frame of every chain, so with most objects many
// times.
func (in *Interner) Objects(yield func(ObjectID)) {
	for i := range in.stacks {
		for j := range in.stacks[i].frames {
			yield(in.stacks[i].frames[j].Object)
		}
	}
}

// Len returns the number of distinct chains.
func (in *Interner) Len() int { return in.count }

// Bytes returns the memory that the chains and their index take.
func (in *Interner) Bytes() int {
	return in.frames*16 + cap(in.stacks)*48 + cap(in.index)*4
}

// Keep makes a chain survive the next Sweep.
func (in *Interner) Keep(id StackID) { in.stacks[id].kept = true }

// Sweep forgets all chains except those passed to Keep since the last Sweep, and frees their
// memory. The kept chains keep their ids.
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

// copy copies frames into the current chunk.
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

// crowded reports whether an index of the given length is too full for n chains.
func crowded(chains, length int) bool { return 4*chains > 3*length }

// reindex rebuilds the index with room for at least one more chain.
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
