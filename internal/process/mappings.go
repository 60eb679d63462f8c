package process

import (
	"slices"
	"sort"
)

// maxMappings bounds the executable mappings of one process. It is the kernel's default for all
// mappings (DEFAULT_MAX_MAP_COUNT, vm.max_map_count).
const maxMappings = 65530

// mapping is executable memory of a process. offset is that of a callchain.Frame at start: a
// file offset if there is a file, otherwise the address.
type mapping struct {
	start, end uint64
	offset     uint64
	object     *Object
}

// overlay inserts m into a list that is sorted by address and has no overlaps. Like mmap(2)
// with MAP_FIXED, m replaces what it covers; partly covered mappings are cut or split. A nil
// object leaves a hole. overlay may change list in place, like append.
func overlay(list []mapping, m mapping) []mapping {
	i := sort.Search(len(list), func(i int) bool { return list[i].end > m.start })
	j := i
	for j < len(list) && list[j].start < m.end {
		j++
	}
	var fresh [3]mapping
	n := 0
	if i < j && list[i].start < m.start {
		fresh[n] = list[i]
		fresh[n].end = m.start
		n++
	}
	if m.object != nil {
		fresh[n] = m
		n++
	}
	if i < j && list[j-1].end > m.end {
		fresh[n] = list[j-1]
		fresh[n].offset += m.end - fresh[n].start
		fresh[n].start = m.end
		n++
	}
	if len(list)-(j-i)+n > maxMappings {
		return list
	}
	return slices.Replace(list, i, j, fresh[:n]...)
}

// covers reports whether list already contains m. That is so for most records of mappings that
// the snapshot has too.
func covers(list []mapping, m mapping) bool {
	i, ok := find(list, m.start)
	return ok && list[i] == m
}

// find returns the index of the mapping that contains an address.
func find(list []mapping, pc uint64) (int, bool) {
	low, high := 0, len(list)
	for low < high {
		middle := int(uint(low+high) >> 1)
		if list[middle].end > pc {
			high = middle
		} else {
			low = middle + 1
		}
	}
	return low, low < len(list) && list[low].start <= pc
}
