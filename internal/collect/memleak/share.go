package memleak

import (
	"fmt"
	"io"
	"math"
	"math/rand/v2"
	"unsafe"

	"github.com/ringtap/ringtap/internal/collect/table"
	"github.com/ringtap/ringtap/internal/profile/histogram"
	"github.com/ringtap/ringtap/perfevent"
)

// caller is the code that made an allocation.
type caller struct {
	row table.Row
	// native is the row of the native frames only, if the process has an interpreter. Otherwise it
	// is not Known.
	native table.Row
	read   bool // row has the interpreted functions at the time of the call
}

// callerOf returns the caller of a sampled allocation. If ringtap read the interpreted functions
// late, they may belong to another call. The caller then has native frames only.
func callerOf(rows *table.Rows, s *perfevent.Sample) caller {
	row, native, read := rows.OfCalls(s)
	if native.Known() && !read {
		row = native
	}
	return caller{row, native, read}
}

// stratum is a set of allocations that have the same native frames and nearly the same size. Only
// their interpreted functions differ. ringtap reads the functions of some of them, which represent
// the others (stratified sampling). Which ones are read does not depend on the functions.
type stratum struct {
	native table.Row
	size   uint8 // see sizeClass
}

// sizeClass returns the number of the range that size is in. Each power of two is split into four
// ranges. size must be less than 1<<63.
func sizeClass(size uint64) uint8 {
	return uint8(histogram.Log2Split(2).Index(int64(size)))
}

// readings counts recent allocations of a stratum, and how many of these had their functions read.
type readings struct {
	made, read float64
	kept       bool // sites refer to the stratum
}

// stratumBytes is the memory of a stratum, with its entry in the map.
const stratumBytes = 2 * int(unsafe.Sizeof(stratum{})+unsafe.Sizeof(readings{})+unsafe.Sizeof(uintptr(0)))

// recent is the number of read allocations at which both counts of a stratum are halved. Newer
// allocations count more, because the share of read ones changes with the allocation rate.
const recent = 32

// siteKey identifies a site. Allocations of one caller have several sites if they stand for
// different numbers of allocations.
type siteKey struct {
	row table.Row
	stratum
	read bool
	// stands, if read is set, says that each allocation stands for 1<<stands allocations, including
	// itself.
	stands uint8
}

// keep makes a site's rows valid in the next window.
func (k *siteKey) keep(rows *table.Rows) {
	rows.Keep(k.row)
	rows.Keep(k.native)
}

// siteOf returns the site of an allocation.
func (h *holdings) siteOf(rows *table.Rows, c caller, size uint64) siteKey {
	key := siteKey{row: c.row}
	if !c.native.Known() {
		return key
	}
	key.stratum, key.read = stratum{c.native, sizeClass(size)}, c.read
	n := h.strata[key.stratum]
	if n == nil {
		if !h.memory.take(rows, stratumBytes) {
			return siteKey{row: c.row}
		}
		n = &readings{}
		h.strata[key.stratum] = n
	}
	n.made++
	if c.read {
		n.read++
		key.stands = powerOfTwo(n.made/n.read, rand.Float64())
		if n.read >= recent {
			n.made, n.read = n.made/2, n.read/2
		}
	}
	return key
}

// powerOfTwo rounds n, which is at least 1, to a power of two and returns its exponent. It rounds
// up or down at random, so that the mean of the powers is n. chance is a random number from 0 up to
// 1.
func powerOfTwo(n, chance float64) uint8 {
	fraction, exponent := math.Frexp(n) // n = fraction << exponent, and fraction is from 1/2 up to 1
	if chance < 2*fraction-1 {
		return uint8(exponent)
	}
	return uint8(exponent - 1)
}

// tidyStrata removes the strata that no site refers to.
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

// Reading splits a report's memory by how ringtap knows the interpreted functions that allocated
// it, in bytes. Memory of processes without an interpreter does not count.
type Reading struct {
	Read   uint64 // ringtap read the functions when the memory was allocated
	Shared uint64 // the functions are estimates: allocations that were read represent this memory
	None   uint64 // the functions are unknown

	// squares is the sum of the squares of what the read allocations stand for besides themselves.
	squares float64
}

// StandardError returns the standard error, in bytes, of the memory of a function that has half of
// Shared. It is smaller for any other function. Reading fewer allocations makes it larger.
func (r *Reading) StandardError() float64 { return math.Sqrt(r.squares) / 2 }

// share returns sites after it has moved the memory of unread sites to read sites of the same
// stratum. Each read site gets a part in proportion to the bytes that it stands for besides its
// own. Totals stay the same. Unread sites stay if no read site of their stratum stands for other
// allocations.
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
			r.squares += float64(bytes) * float64(bytes) / float64(s.used)
			s.bytes, s.counts = s.bytes+bytes, s.counts+counts
		case p.counts.weights > 0:
			s.used = 0
		default:
			r.None += s.bytes
		}
	}
	return shared
}

// pool is the memory of a stratum's unread sites, which is shared among its read sites.
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

// others returns how many bytes or allocations n stands for, besides n itself.
func (s *site) others(n uint64) float64 { return float64(n) * float64(uint64(1)<<s.stands-1) }

// portion splits a total by weights. The parts add up to the total.
type portion struct {
	total   uint64
	weights float64 // sum of all weights
	passed  float64 // sum of the weights so far
	handed  uint64  // sum of the parts so far
}

// next returns the next part of the total, in proportion to its weight. The caller calls it once
// for each weight in p.weights.
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

// say writes the shares of the reported memory whose interpreted functions were read, estimated
// or unknown, and how exact the estimates are.
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
	if r.Shared > 0 {
		fmt.Fprintf(w, "memleak: an estimate is off by less than %.1f%% of bytes (95%% confidence)\n", 100*2*r.StandardError()/all)
	}
}
