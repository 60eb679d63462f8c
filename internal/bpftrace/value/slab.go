package value

// A slab stores cells of one type, by number.
type slab[T any] struct {
	chunks [][]T
	n      uint32
}

const slabBits = 10

// at returns cell i, which add has returned. The pointer is valid until the next add.
func (s *slab[T]) at(i uint32) *T { return &s.chunks[i>>slabBits][i&(1<<slabBits-1)] }

// add adds a zero cell and returns its number. The first chunk grows by doubling, to keep small
// maps small.
func (s *slab[T]) add() uint32 {
	i := s.n
	s.n++
	switch {
	case i>>slabBits > 0 && int(i>>slabBits) == len(s.chunks):
		s.chunks = append(s.chunks, make([]T, 0, 1<<slabBits))
	case len(s.chunks) == 0:
		s.chunks = append(s.chunks, nil)
	}
	var zero T
	last := &s.chunks[i>>slabBits]
	*last = append(*last, zero)
	return i
}
