package kcore

import (
	"encoding/binary"
	"fmt"
)

// Tasks finds the kernel's structs of threads (struct task_struct), of their open files (struct
// file) and of their mappings (struct vm_area_struct). The kernel changes them meanwhile: a
// struct may be gone by the time it is read.
type Tasks struct {
	namespace uint64 // struct pid_namespace
	read      func(address uint64, b []byte) bool
	offset    map[string]int
	most      int // maximum number of mappings read per process
}

// optional are members that some kernels lack.
var optional = map[string]bool{
	"mm_struct.mm_mt.ma_root": true, "maple_range_64.pivot": true, "maple_range_64.slot": true, "maple_arange_64.pivot": true, "maple_arange_64.slot": true,
	"mm_struct.mmap": true, "vm_area_struct.vm_next": true, // before Linux 6.1
}

// members are the members whose offsets Tasks needs.
var members = [][2]string{
	{"pid_namespace", "idr.idr_rt.xa_head"}, {"xa_node", "shift"}, {"xa_node", "slots"}, {"pid", "tasks"},
	{"task_struct", "pid"}, {"task_struct", "pid_links"}, {"task_struct", "files"}, {"task_struct", "mm"},
	{"files_struct", "fdt"}, {"fdtable", "max_fds"}, {"fdtable", "fd"},
	{"vm_area_struct", "vm_start"}, {"vm_area_struct", "vm_next"},
	{"mm_struct", "mmap"}, {"mm_struct", "mm_mt.ma_root"},
	{"maple_range_64", "pivot"}, {"maple_range_64", "slot"}, {"maple_arange_64", "pivot"}, {"maple_arange_64", "slot"},
}

// FindTasks returns a Tasks for the threads of a pid namespace, given the address of its
// struct. read reads the kernel's memory: all of b or nothing. offset returns the offset of a
// member in a struct. The error names a member that offset does not know.
func FindTasks(namespace uint64, read func(address uint64, b []byte) bool, offset func(structure, member string) (int, bool)) (*Tasks, error) {
	t := &Tasks{namespace: namespace, read: read, offset: make(map[string]int), most: maxMappings}
	for _, m := range members {
		name := m[0] + "." + m[1]
		at, ok := offset("struct "+m[0], m[1])
		switch {
		case ok:
			t.offset[name] = at
		case !optional[name]:
			return nil, fmt.Errorf("the kernel's type information has no %s", name)
		}
	}
	return t, nil
}

// member returns the address of a member of a struct.
func (t *Tasks) member(address uint64, name string) uint64 {
	return address + uint64(t.offset[name])
}

// word reads the pointer or number at an address. It returns 0 if that fails.
func (t *Tasks) word(address uint64) uint64 {
	var b [8]byte
	if !t.read(address, b[:]) {
		return 0
	}
	return binary.NativeEndian.Uint64(b[:])
}

// half reads the 32-bit number at an address. It returns 0 if that fails.
func (t *Tasks) half(address uint64) uint32 {
	var b [4]byte
	if !t.read(address, b[:]) {
		return 0
	}
	return binary.NativeEndian.Uint32(b[:])
}

// The kernel's xarrays (include/linux/xarray.h): a pointer to a node has the lowest bits 10.
const (
	nodeBits  = 6 // XA_CHUNK_SHIFT
	nodeMark  = 2
	markMask  = 3
	maxLevels = 64/nodeBits + 1
	pointer   = 8
)

// Find returns the address of a thread's struct, by its id in the namespace.
func (t *Tasks) Find(tid int) (address uint64, ok bool) {
	entry := t.word(t.member(t.namespace, "pid_namespace.idr.idr_rt.xa_head"))
	for level := range maxLevels {
		if entry&markMask != nodeMark {
			break
		}
		node := entry - nodeMark
		var shift [1]byte
		if !t.read(t.member(node, "xa_node.shift"), shift[:]) || shift[0] > 63 {
			return 0, false
		}
		slot := uint64(tid) >> shift[0]
		if level == 0 && slot>>nodeBits > 0 {
			return 0, false // the array is not that large
		}
		entry = t.word(t.member(node, "xa_node.slots") + pointer*(slot&(1<<nodeBits-1)))
	}
	if entry == 0 || entry&markMask != 0 {
		return 0, false
	}
	link := t.word(t.member(entry, "pid.tasks")) // the first list is the one of threads
	if link == 0 {
		return 0, false
	}
	address = link - uint64(t.offset["task_struct.pid_links"])
	return address, t.half(t.member(address, "task_struct.pid")) == uint32(tid)
}

// File returns the address of the struct of a thread's open file, or 0 if there is none.
func (t *Tasks) File(task uint64, fd int) uint64 {
	table := t.word(t.member(t.word(t.member(task, "task_struct.files")), "files_struct.fdt"))
	if uint32(fd) >= t.half(t.member(table, "fdtable.max_fds")) {
		return 0
	}
	return t.word(t.word(t.member(table, "fdtable.fd")) + pointer*uint64(fd))
}
