package process

import "github.com/ringtap/ringtap/callchain"

// objectSet is a set of objects. It is queried for each held frame, so a map would be too slow.
// IDs are never reused, so one array for all IDs would be too large. Its size depends on the
// objects in it.
type objectSet struct {
	blocks map[callchain.ObjectID]*objectBlock // by the high bits of IDs
	high   callchain.ObjectID                  // high bits of the last block used
	last   *objectBlock                        // last block used; may be nil
}

// objectBlock has one bit for each object whose ID has the same high bits.
type objectBlock [blockObjects / 64]uint64

const blockObjects = 1 << 12

// block returns the block of an ID, or nil if there is none.
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
