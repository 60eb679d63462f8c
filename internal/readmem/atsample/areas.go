package atsample

import (
	"bytes"
	"cmp"
	"slices"

	"github.com/ringtap/ringtap/callchain"
	"github.com/ringtap/ringtap/internal/process"
	"github.com/ringtap/ringtap/perfevent"
)

// stackArea is the address range [start, end) of writable memory that may hold a thread's stack.
type stackArea struct {
	start, end uint64
	// deadFrom is the start of memory that holds no frames of any stack. That memory ends topBytes before
	// end. If deadFrom is 0, no such memory is known.
	deadFrom uint64
}

// If at least topFirstSize bytes of a stack lie past its copy, its outermost topBytes are read first. Most of
// such a stack may be one large variable: a Ruby thread keeps the VM's own stack in one.
//
// topPages covers what may lie above the outermost frames. Linux before 6.7, and later kernels without
// transparent huge pages, merge the loader's allocations into the area of the first thread's stack. They
// take three pages at the top. The two pages below them have the thread's own data and its first functions.
const (
	topFirstSize = 256 << 10
	topPages     = 8
	topBytes     = topPages * callchain.PageSize
)

// maxAreas is the most areas that readAreas returns for a process.
const maxAreas = 1 << 14

// maxStackGrowth is how far below its area in /proc/PID/maps the main thread's stack may grow, in bytes.
// The kernel extends that area only when the thread uses more of it.
const maxStackGrowth = 64 << 20

// readAreas returns the anonymous writable memory of process pid, by address, or nil if it cannot read
// /proc/PID/maps. It leaves out mappings of files: reading them may wait for any disk, while reading anonymous
// memory waits for swap at most.
func readAreas(pid int) (areas []stackArea) {
	var host process.Host
	err := host.Areas(pid, func(a *process.Area) bool {
		switch {
		case !a.Writable:
		case len(a.Path) == 0, bytes.HasPrefix(a.Path, []byte("[anon:")): // the process may have named it: PR_SET_VMA(2const)
			areas = append(areas, stackArea{start: a.Start, end: a.End})
		case string(a.Path) == "[stack]":
			below := uint64(0)
			if n := len(areas); n > 0 {
				below = areas[n-1].end
			}
			areas = append(areas, stackArea{start: max(below, a.Start-min(a.Start, maxStackGrowth)), end: a.End})
		}
		return len(areas) < maxAreas
	})
	if err != nil {
		return nil
	}
	slices.SortFunc(areas, func(a, b stackArea) int { return cmp.Compare(a.start, b.start) })
	return areas
}

// splitAt returns areas with the area that contains addr split in two at addr. It returns areas unchanged if addr
// is in none of them, or is where one starts.
func splitAt(areas []stackArea, addr uint64) []stackArea {
	i, found := slices.BinarySearchFunc(areas, addr, func(a stackArea, target uint64) int { return cmp.Compare(a.start, target) })
	if found || i == 0 || areas[i-1].end <= addr || len(areas) >= 2*maxAreas {
		return areas
	}
	areas = slices.Insert(slices.Clone(areas), i, stackArea{start: addr, end: areas[i-1].end})
	areas[i-1].end, areas[i-1].deadFrom = addr, 0
	return areas
}

// markDead returns areas with the range [from, to) of one area marked as never holding frames. It returns
// areas unchanged unless to lies topBytes before the end of that area.
func markDead(areas []stackArea, from, to uint64) []stackArea {
	i := slices.IndexFunc(areas, func(a stackArea) bool { return a.start <= from && from < a.end })
	if i < 0 || from >= to || to != areas[i].end-topBytes {
		return areas
	}
	areas = slices.Clone(areas)
	areas[i].deadFrom = from
	return areas
}

// findArea returns the area that contains addr, or a zero stackArea if there is none. areas are in the order
// of their addresses.
func findArea(areas []stackArea, addr uint64) stackArea {
	low, high := 0, len(areas)
	for low < high {
		if middle := int(uint(low+high) >> 1); areas[middle].end <= addr {
			low = middle + 1
		} else {
			high = middle
		}
	}
	if low == len(areas) || areas[low].start > addr {
		return stackArea{}
	}
	return areas[low]
}

// stackCopy is the address range [sp, end) of the user stack that a sample carries.
type stackCopy struct{ sp, end uint64 }

// copyOf returns the range of the stack that s carries, or a zero stackCopy if s has no user registers.
func copyOf(s *perfevent.Sample) stackCopy {
	_, sp, _, ok := callchain.Host().Frame(s.Regs.Mask, s.Regs.Values)
	if !ok {
		return stackCopy{}
	}
	return stackCopy{sp, sp + uint64(len(s.Stack))}
}

// remainder returns the part of the stack's area past the copy, from the page in which the copy ends. It
// returns a zero stackArea if the copy reaches the end of the area, as most do.
func (c stackCopy) remainder(areas []stackArea) stackArea {
	a := findArea(areas, c.sp)
	if c.end >= a.end {
		return stackArea{}
	}
	a.start = c.end &^ (callchain.PageSize - 1)
	if a.deadFrom > 0 && a.end-a.start < topBytes {
		a.deadFrom = 0
	}
	return a
}
