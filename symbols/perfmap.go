package symbols

import (
	"cmp"
	"container/heap"
	"io"
	"slices"
	"sort"

	"github.com/ringtap/ringtap/internal/object/jitmap"
)

// MaxPerfMap is the number of bytes that ReadPerfMap reads if the limit is 0.
const MaxPerfMap = 64 << 20

// PerfMap is the map that a just-in-time compiler has written of its code. It never changes. A
// runtime appends to its file as it compiles: to get the newer names, read it again.
type PerfMap struct {
	ranges []jitted // sorted, disjoint
	names  string

	// BadLines counts malformed lines, which were left out. The runtime may have been in the
	// middle of writing one.
	BadLines int
	// Cut is true if the file was longer than the limit or had too many entries. The entries
	// before that were kept.
	Cut bool
}

// jitted is an entry of a perf map, or the part of it that no later entry overlaps.
type jitted struct {
	start  uint64
	size   uint32
	name   uint32
	length uint16
}

// ReadPerfMap reads the format of /tmp/perf-PID.map
// (tools/perf/Documentation/jit-interface.txt): lines of
//
//	START SIZE NAME
//
// START and SIZE are hexadecimal; NAME may contain spaces. It reads at most limit bytes, or
// MaxPerfMap if limit is zero. If entries overlap, the later one wins, since its code has
// overwritten the other's. Only errors of r are returned. It also reads the names of a jitdump
// file.
//
// The file is in a directory that anyone can write to. Before the caller shows its names as
// names of process PID, it must have checked that the file
//
//   - is a regular file, not reached through a symbolic link,
//   - belongs to the user of the process or to root, and
//   - is found with the root directory, mount namespace and pid namespace of the process.
func ReadPerfMap(r io.Reader, limit int64) (*PerfMap, error) {
	if limit <= 0 {
		limit = MaxPerfMap
	}
	p := &PerfMap{}
	var entries []jitted
	var names []byte
	limited := &io.LimitedReader{R: r, N: limit}
	in := jitmap.NewReader(limited)
	for {
		e, err := in.Next()
		if err == io.EOF {
			break
		}
		if err != nil {
			return nil, err
		}
		if len(entries) >= maxSymbols {
			p.Cut = true
			continue
		}
		name := e.Name[:min(len(e.Name), maxSymbolName)]
		entries = append(entries, jitted{start: e.Start, size: e.Size, name: uint32(len(names)), length: uint16(len(name))})
		names = append(names, name...)
	}
	if limited.N == 0 {
		var one [1]byte
		if n, _ := r.Read(one[:]); n > 0 {
			p.Cut = true
		}
	}
	p.BadLines = in.BadLines
	p.ranges, p.names = flatten(entries), string(names)
	return p, nil
}

// Lookup returns the code that contains addr, an address in the process that wrote the map. It
// allocates nothing.
func (p *PerfMap) Lookup(addr uint64) (Symbol, bool) {
	i := sort.Search(len(p.ranges), func(i int) bool { return p.ranges[i].start > addr }) - 1
	if i < 0 || addr-p.ranges[i].start >= uint64(p.ranges[i].size) {
		return Symbol{}, false
	}
	e := &p.ranges[i]
	return Symbol{Name: p.names[e.name:][:e.length], Start: e.start, Size: uint64(e.size)}, true
}

// Len returns the number of ranges that have a name.
func (p *PerfMap) Len() int { return len(p.ranges) }

// flatten resolves overlaps: at each address the entry that comes last in the file wins. It
// sweeps over the addresses with a heap of the entries that cover the current one, the latest
// on top.
func flatten(entries []jitted) []jitted {
	order := make([]int, len(entries))
	for i := range order {
		order[i] = i
	}
	slices.SortFunc(order, func(x, y int) int {
		return cmp.Or(cmp.Compare(entries[x].start, entries[y].start), cmp.Compare(x, y))
	})
	flat := make([]jitted, 0, len(entries))
	var live latest
	at := uint64(0)
	for len(order) > 0 || len(live) > 0 {
		if len(live) == 0 {
			e := entries[order[0]]
			at = e.start
			if len(order) == 1 || entries[order[1]].start >= at+uint64(e.size) {
				flat, order = append(flat, e), order[1:] // no overlap, the usual case
				continue
			}
		}
		for len(order) > 0 && entries[order[0]].start <= at {
			heap.Push(&live, order[0])
			order = order[1:]
		}
		top := entries[live[0]]
		end := top.start + uint64(top.size)
		if end <= at {
			heap.Pop(&live)
			continue
		}
		if len(order) > 0 {
			end = min(end, entries[order[0]].start)
		}
		// An entry that starts here but is covered by a later one does not split that one.
		if n := len(flat); n > 0 && flat[n-1].name == top.name && flat[n-1].start+uint64(flat[n-1].size) == at {
			flat[n-1].size = uint32(end - flat[n-1].start)
		} else {
			top.start, top.size = at, uint32(end-at)
			flat = append(flat, top)
		}
		at = end
	}
	return flat
}

// latest is a heap of indexes, the largest on top.
type latest []int

func (l latest) Len() int           { return len(l) }
func (l latest) Less(i, j int) bool { return l[i] > l[j] }
func (l latest) Swap(i, j int)      { l[i], l[j] = l[j], l[i] }
func (l *latest) Push(x any)        { *l = append(*l, x.(int)) }
func (l *latest) Pop() any {
	old := *l
	x := old[len(old)-1]
	*l = old[:len(old)-1]
	return x
}
