package kcore

import "math"

// maxMappings bounds the mappings of a process that are read. The kernel's own limit is the
// sysctl vm.max_map_count, by default 65530.
const maxMappings = 1 << 20

// Mappings returns the addresses of the structs of a thread's mappings, by the mappings' start
// addresses.
func (t *Tasks) Mappings(task uint64) map[uint64]uint64 {
	found := make(map[uint64]uint64)
	mm := t.word(t.member(task, "task_struct.mm"))
	if mm == 0 {
		return found
	}
	add := func(vma uint64) { found[t.word(t.member(vma, "vm_area_struct.vm_start"))] = vma }
	if _, tree := t.offset["mm_struct.mm_mt.ma_root"]; tree {
		w := mapleWalk{Tasks: t, left: t.most, add: add}
		w.entry(t.word(t.member(mm, "mm_struct.mm_mt.ma_root")), 0)
		return found
	}
	if _, list := t.offset["mm_struct.mmap"]; list {
		vma := t.word(t.member(mm, "mm_struct.mmap"))
		for range t.most {
			if vma == 0 {
				break
			}
			add(vma)
			vma = t.word(t.member(vma, "vm_area_struct.vm_next"))
		}
	}
	return found
}

// mapleWalk walks a maple tree (include/linux/maple_tree.h). A pointer to a node has the node's
// type in its bits 3 to 6.
type mapleWalk struct {
	*Tasks
	left int // how many more nodes and entries it may read
	add  func(entry uint64)
}

// Types of nodes, and their place in a pointer.
const (
	mapleLeaf   = 1
	mapleRange  = 2
	mapleArange = 3

	mapleShift    = 3
	mapleTypes    = 0xf
	mapleAlign    = 0xff // alignment of nodes, minus one
	rangeSlots    = 16
	arangeSlots   = 10
	maxMapleDepth = 31
)

// entry adds the entries below the root of a tree.
func (w *mapleWalk) entry(root uint64, depth int) {
	switch {
	case root == 0:
	case root&markMask == nodeMark:
		w.node(root, depth)
	case root&markMask == 0:
		w.add(root)
	}
}

// node adds the entries below a node.
func (w *mapleWalk) node(encoded uint64, depth int) {
	structure, slots := "maple_range_64", rangeSlots
	kind := encoded >> mapleShift & mapleTypes
	switch {
	case kind == mapleArange:
		structure, slots = "maple_arange_64", arangeSlots
	case kind != mapleLeaf && kind != mapleRange, depth > maxMapleDepth:
		return
	}
	at := encoded &^ mapleAlign
	for i := range slots {
		if w.left--; w.left < 0 {
			return
		}
		entry := w.word(w.member(at, structure+".slot") + uint64(pointer*i))
		switch {
		case entry == 0:
		case kind != mapleLeaf:
			w.node(entry, depth+1)
		case entry&markMask == 0:
			w.add(entry)
		}
		// The last slot of a full node has no pivot.
		if i == slots-1 {
			return
		}
		if bound := w.word(w.member(at, structure+".pivot") + uint64(pointer*i)); bound == math.MaxUint64 || bound == 0 && i > 0 {
			return
		}
	}
}
