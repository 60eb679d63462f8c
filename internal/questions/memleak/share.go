package memleak

import (
	"fmt"
	"io"
	"math"
	"math/bits"
	"math/rand/v2"
	"unsafe"

	"github.com/ringtap/ringtap/internal/table"
	"github.com/ringtap/ringtap/perfevent"
)

// caller is the code that made an allocation.
type caller struct {
	row table.Row
	// native is the row of its native frames alone, if its process has an interpreter; else it is not Known.
	native table.Row
	read   bool // row has the interpreted functions at the time of the call
}

// callerOf returns the caller of a sampled allocation. Functions that were read late may be other ones:
// the caller then has its native frames only.
func callerOf(rows *table.Rows, s *perfevent.Sample) caller {
	row, native, read := rows.OfCalls(s)
	if native.Known() && !read {
		row = native
	}
	return caller{row, native, read}
}

// stratum is the allocations that only interpreted functions tell apart: they have the same native
// frames and nearly the same size. ringtap reads the functions of some of them, which stand for the others
// (stratified sampling). Whether one is read does not depend on the functions that run.
type stratum struct {
	native table.Row
	size   uint8 // sizeClass
}

// sizeClass returns the number of a range of sizes, which are below 1<<63. Each power of two is split into
// four ranges.
func sizeClass(size uint64) uint8 {
	n := bits.Len64(size)
	if n < 3 {
		return uint8(size)
	}
	return uint8(n<<2 | int(size>>(n-3)&3))
}

// readings counts the latest allocations of a stratum, to know how many of them are read.
type readings struct {
	made, read float64
	kept       bool // sites refer to the stratum
}

// stratumBytes is what a stratum takes, with its place in the map.
const stratumBytes = 2 * int(unsafe.Sizeof(stratum{})+unsafe.Sizeof(readings{})+unsafe.Sizeof(uintptr(0)))

// recent is how many readings pass until earlier ones count half as much: the share that is read changes with
// the rate of allocations.
const recent = 32

// siteKey is a site's identity. Allocations of one caller are at several sites if they stand for different
// numbers of others.
type siteKey struct {
	row table.Row
	stratum
	read bool
	// stands, of those that are read: each stands for 1<<stands allocations, itself included.
	stands uint8
}

// keep has a site's rows outlive the window that ends.
func (k *siteKey) keep(rows *table.Rows) {
	rows.Keep(k.row)
	rows.Keep(k.native)
}

// siteOf returns the site of an allocation.
func (h *holdings) siteOf(rows *table.Rows, by caller, size uint64) siteKey {
	key := siteKey{row: by.row}
	if !by.native.Known() {
		return key
	}
	key.stratum, key.read = stratum{by.native, sizeClass(size)}, by.read
	n := h.strata[key.stratum]
	if n == nil {
		if !h.memory.take(rows, stratumBytes) {
			return siteKey{row: by.row}
		}
		n = &readings{}
		h.strata[key.stratum] = n
	}
	n.made++
	if by.read {
		n.read++
		key.stands = powerOfTwo(n.made/n.read, rand.Float64())
		if n.read >= recent {
			n.made, n.read = n.made/2, n.read/2
		}
	}
	return key
}

// powerOfTwo rounds n, which is at least 1, to a power of two and returns its exponent. It rounds up
// or down by chance, from 0 up to 1, so that the mean of the powers is n.
func powerOfTwo(n, chance float64) uint8 {
	fraction, exponent := math.Frexp(n) // n = fraction << exponent, and fraction is from 1/2 up to 1
	if chance < 2*fraction-1 {
		return uint8(exponent)
	}
	return uint8(exponent - 1)
}

// tidyStrata forgets the strata that no site refers to.
func (h *holdings) tidyStrata() {
	for i := range h.sites {
		if s := &h.sites[i]; s.native.Known() {
			if n := h.strata[s.stratum]; n != nil {
				n.kept = true
			}
		}
	}
	for key, n := range h.strata {
		if !n.kept {
			delete(h.strata, key)
			h.memory.bytes -= stratumBytes
		}
		n.kept = false
	}
}

// Reading says how the interpreted functions that allocated the memory of a report are known, in bytes.
// Memory of processes without an interpreter does not count.
type Reading struct {
	Read   uint64 // ringtap read them as the memory was allocated
	Shared uint64 // that of allocations for which ones that were read stand
	None   uint64 // they are not known
}

// share returns sites after it has moved the memory of unread sites to read sites of the same stratum, in
// proportion to the bytes that each of these stands for besides its own. Totals stay the same. Unread sites
// stay if no read site of their stratum stands for others.
func (r *Reading) share(sites []site) []site {
	pools := make(map[stratum]*pool)
	for i := range sites {
		if s := &sites[i]; s.used > 0 && s.native.Known() {
			p := pools[s.stratum]
			if p == nil {
				p = &pool{}
				pools[s.stratum] = p
			}
			p.add(s)
		}
	}
	if len(pools) == 0 {
		return sites
	}
	shared := append([]site(nil), sites...)
	for i := range shared {
		s := &shared[i]
		if s.used == 0 || !s.native.Known() {
			continue
		}
		switch p := pools[s.stratum]; {
		case s.read:
			r.Read += s.bytes
			bytes, counts := p.bytes.next(s.others(s.bytes)), p.counts.next(s.others(s.counts))
			r.Shared += bytes
			s.bytes, s.counts = s.bytes+bytes, s.counts+counts
		case p.counts.weights > 0:
			s.used = 0
		default:
			r.None += s.bytes
		}
	}
	return shared
}

// pool is what stands of a stratum and was not read.
type pool struct{ bytes, counts portion }

func (p *pool) add(s *site) {
	if s.read {
		p.bytes.weights += s.others(s.bytes)
		p.counts.weights += s.others(s.counts)
		return
	}
	p.bytes.total += s.bytes
	p.counts.total += s.counts
}

// others is how much of a stratum n stands for, besides itself.
func (s *site) others(n uint64) float64 { return float64(n) * float64(uint64(1)<<s.stands-1) }

// portion splits a total by weights. The parts add up to the total.
type portion struct {
	total   uint64
	weights float64 // of all parts
	passed  float64 // weights of the parts so far
	handed  uint64  // sum of the parts so far
}

// next returns the part of a weight.
func (p *portion) next(weight float64) uint64 {
	if p.weights == 0 {
		return 0
	}
	p.passed += weight
	upTo := p.total
	if p.passed < p.weights {
		upTo = uint64(float64(p.total) * (p.passed / p.weights))
	}
	part := upTo - min(upTo, p.handed)
	p.handed += part
	return part
}

// say says how the interpreted functions of the memory shown are known.
func (r *Reading) say(w io.Writer) {
	all := float64(r.Read + r.Shared + r.None)
	if all == 0 {
		return
	}
	share := func(n uint64) float64 { return 100 * float64(n) / all }
	fmt.Fprintf(w, "memleak: interpreted functions: %.1f%% of bytes read", share(r.Read))
	if r.Shared > 0 {
		fmt.Fprintf(w, ", %.1f%% estimated", share(r.Shared))
	}
	if r.None > 0 {
		fmt.Fprintf(w, ", %.1f%% none", share(r.None))
	}
	fmt.Fprintln(w)
}
