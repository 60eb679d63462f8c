package callframe

import (
	"cmp"
	"slices"
)

// scanChunk is how many bytes of a section are held during a scan.
const scanChunk = 128 << 10

// complete reports whether the header's table has exactly the section's functions. It checks
// that once. The two have different orders, so it compares sums of digests.
func (s *Section) complete() bool {
	if !s.whole {
		var records, entries uint64
		s.each(func(p place) { records += p.digest() })
		for i := range s.header.count {
			if p, ok := s.header.place(i, searchBlock); ok && p.start != 0 {
				p.record -= s.addr
				entries += p.digest()
			}
		}
		s.whole = records == entries
	}
	return s.whole
}

// digest is a hash of the place (MurmurHash3's last step).
func (p place) digest() uint64 {
	h := p.start ^ p.record<<32
	h = (h ^ h>>33) * 0xff51afd7ed558ccd
	h = (h ^ h>>33) * 0xc4ceb9fe1a85ec53
	return h ^ h>>33
}

// scan finds the functions of a section without a usable table.
func (s *Section) scan() {
	if s.scanned {
		return
	}
	s.scanned = true
	s.each(func(p place) { s.places = append(s.places, p) })
	s.places = sorted(slices.Clip(s.places))
}

// fewPlaces is the number of places from which radix sort is faster.
const fewPlaces = 1 << 14

// sorted sorts places stably by start. For the large numbers that crafted files can have it
// uses a radix sort, which takes a tenth of the time.
func sorted(places []place) []place {
	if len(places) < fewPlaces {
		slices.SortStableFunc(places, func(x, y place) int { return cmp.Compare(x.start, y.start) })
		return places
	}
	const bits = 16
	next := make([]int, 1<<bits)
	other := make([]place, len(places))
	for shift := 0; shift < 64; shift += bits {
		clear(next)
		for _, p := range places {
			next[p.start>>shift%(1<<bits)]++
		}
		if next[places[0].start>>shift%(1<<bits)] == len(places) {
			continue
		}
		sum := 0
		for i, n := range next {
			next[i] = sum
			sum += n
		}
		for _, p := range places {
			digit := p.start >> shift % (1 << bits)
			other[next[digit]] = p
			next[digit]++
		}
		places, other = other, places
	}
	return places
}

// each calls add for each function of the section. It reads only the records' addresses. It
// stops where the chain of records ends.
func (s *Section) each(add func(place)) {
	window, at := []byte(nil), uint64(0) // window holds the bytes starting at offset at
	// Only records already seen count as CIEs. That keeps the work linear: a crafted file can't
	// make us read the same bytes as many different CIEs.
	met := make(map[uint64]*CIE)
	count := 0
	for off := uint64(0); off < s.size && count < maxFunctions; {
		if off-at+usualRecord > uint64(len(window)) && at+uint64(len(window)) < s.size || off < at {
			if window, at = s.read(off, scanChunk), off; len(window) == 0 {
				return
			}
		}
		b := window[off-at:]
		rec, ok := s.frame(off, b)
		switch {
		case ok && rec.cie:
			if len(met) < maxCIEs {
				met[off] = s.cie(off)
			}
		case ok:
			c := met[rec.owner]
			if c == nil {
				break
			}
			// Functions that the linker dropped have address zero.
			if start, _, ok := s.parseRange(&rec, c); ok && start != 0 {
				add(place{start, off})
				count++
			}
		case s.debug && len(b) >= 4 && s.image.Order.Uint32(b) == 0: // padding
			rec.next = off + 4
		default:
			return
		}
		off = rec.next
	}
}
