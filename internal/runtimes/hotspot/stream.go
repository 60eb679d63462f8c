package hotspot

import "github.com/ringtap/ringtap/internal/runtimes/interp"

// stream reads packed numbers from a process, byte by byte.
type stream struct {
	mem  interp.Memory
	at   uint64 // address of the next byte
	bad  bool
	page []byte // bytes read ahead
	// biased is true if packed numbers contain no zero byte, as since JDK 20.
	biased bool
}

func (s *stream) next() byte {
	if len(s.page) == 0 {
		const ahead = 64
		s.page = make([]byte, ahead-s.at%ahead)
		if !s.mem.Read(s.at, s.page) {
			s.page, s.bad = nil, true
			return 0
		}
	}
	b := s.page[0]
	s.page = s.page[1:]
	s.at++
	return b
}

// unsigned reads a number of up to five bytes. All but the last are 192 or more (UNSIGNED5 in
// src/hotspot/share/utilities/unsigned5.hpp, pack200's encoding).
func (s *stream) unsigned() uint32 {
	bias, last := uint32(0), uint32(192)
	if s.biased {
		bias, last = 1, 191
	}
	var n uint32
	for i := range 5 {
		b := uint32(s.next())
		if s.bad || b < bias {
			s.bad = true
			return 0
		}
		b -= bias
		n += b << (6 * i)
		if b < last {
			break
		}
	}
	return n
}

// signed reads a number whose lowest bit is the sign.
func (s *stream) signed() int32 {
	n := s.unsigned()
	return int32(n>>1) ^ -int32(n&1)
}
