package process

import "github.com/ringtap/ringtap/callchain"

// objectSet is a set of objects. It is asked once for each frame that is held, so that it
// is no map; and IDs are never used again, so that it is no array of all there were. What
// it takes depends on the objects that are in it.
type objectSet struct {
	blocks map[callchain.ObjectID]*objectBlock // by the high bits of IDs
	high   callchain.ObjectID                  // those of the block that was asked for last
	last   *objectBlock                        // that block; nil if there is none
}

// objectBlock has a bit for each object whose ID has the same high bits.
type objectBlock [blockObjects / 64]uint64

const blockObjects = 1 << 12

// block returns the block of an ID, nil if there is none.
func (s *objectSet) block(id callchain.ObjectID) *objectBlock {
	if high := id / blockObjects; s.last == nil || high != s.high {
		s.high, s.last = high, s.blocks[high]
	}
	return s.last
}

func (s *objectSet) add(id callchain.ObjectID) {
	b := s.block(id)
	if b == nil {
		if s.blocks == nil {
			s.blocks = make(map[callchain.ObjectID]*objectBlock)
		}
		b = new(objectBlock)
		s.blocks[s.high], s.last = b, b
	}
	b[id%blockObjects/64] |= 1 << (id % 64)
}

func (s *objectSet) has(id callchain.ObjectID) bool {
	b := s.block(id)
	return b != nil && b[id%blockObjects/64]&(1<<(id%64)) != 0
}
