package kcore

import (
	"encoding/binary"
	"maps"
	"math"
	"testing"

	"github.com/ringtap/ringtap/internal/testkit/fuzzing"
)

// memory is words at their addresses.
type memory map[uint64]uint64

func (m memory) read(address uint64, b []byte) bool {
	word, ok := m[address&^7]
	if !ok {
		return false
	}
	var all [8]byte
	binary.NativeEndian.PutUint64(all[:], word)
	return copy(b, all[address&7:]) == len(b)
}

// layout is where the members are of structs that are smaller than the kernel's.
func layout(lacks ...string) func(structure, member string) (int, bool) {
	at := map[string]int{
		"struct pid_namespace.idr.idr_rt.xa_head": 8, "struct xa_node.shift": 0, "struct xa_node.slots": 8, "struct pid.tasks": 16,
		"struct task_struct.pid": 0, "struct task_struct.pid_links": 32, "struct task_struct.files": 8, "struct task_struct.mm": 16,
		"struct files_struct.fdt": 0, "struct fdtable.max_fds": 0, "struct fdtable.fd": 8,
		"struct vm_area_struct.vm_start": 0, "struct vm_area_struct.vm_next": 16, "struct mm_struct.mmap": 0, "struct mm_struct.mm_mt.ma_root": 8,
		"struct maple_range_64.pivot": 8, "struct maple_range_64.slot": 128, "struct maple_arange_64.pivot": 8, "struct maple_arange_64.slot": 80,
	}
	for _, name := range lacks {
		delete(at, name)
	}
	return func(structure, member string) (int, bool) {
		offset, ok := at[structure+"."+member]
		return offset, ok
	}
}

const namespace, task = 0x1000, 0x5000

// threads is the memory of a kernel with the threads 1 and 70.
func threads() memory {
	const top, first, second, pid1, pid70, task1 = 0x2000, 0x2400, 0x2800, 0x3000, 0x3100, 0x4000
	return memory{
		namespace + 8: top | nodeMark, top: nodeBits, first: 0, second: 0, // shifts
		top + 8: first | nodeMark, top + 8 + 8*(70>>nodeBits): second | nodeMark,
		first + 8 + 8*1: pid1, second + 8 + 8*(70%64): pid70,
		pid1 + 16: task1 + 32, pid70 + 16: task + 32, task1: 1, task: 70,
	}
}

func TestThreadsAreFoundByTheirNumbers(t *testing.T) {
	tasks, err := FindTasks(namespace, threads().read, layout())
	if err != nil {
		t.Fatal(err)
	}
	for tid, want := range map[int]uint64{1: 0x4000, 70: task, 2: 0, 71: 0, 1 + 64*64: 0, 1 << 30: 0} {
		if got, ok := tasks.Find(tid); ok != (want != 0) || ok && got != want {
			t.Errorf("%d: %#x, %v", tid, got, ok)
		}
	}
	if _, err := FindTasks(namespace, threads().read, layout("struct pid.tasks")); err == nil {
		t.Error("threads are found without their structs' members")
	}
}

func TestFilesAreFoundByTheirDescriptors(t *testing.T) {
	m := threads()
	maps.Copy(m, memory{task + 8: 0x6000, 0x6000: 0x6100, 0x6100: 3, 0x6108: 0x6200, 0x6200: 0x7000, 0x6208: 0, 0x6210: 0x7200, 0x6218: 0x7300})
	tasks, err := FindTasks(namespace, m.read, layout())
	if err != nil {
		t.Fatal(err)
	}
	for fd, want := range []uint64{0x7000, 0, 0x7200, 0, 0} {
		if got := tasks.File(task, fd); got != want {
			t.Errorf("%d: %#x, want %#x", fd, got, want)
		}
	}
}

func TestMappingsAreFoundInATreeAndInAList(t *testing.T) {
	const mm, root, leaf1, leaf2 = 0x8000, 0x9000, 0x9100, 0x9200
	arange, leaf := uint64(mapleArange<<mapleShift), uint64(mapleLeaf<<mapleShift)
	m := threads()
	maps.Copy(m, memory{
		task + 16: mm, mm: 0xa000, mm + 8: root | arange | nodeMark,
		root + 80: leaf1 | leaf | 4, root + 8: 0x2fff, root + 88: leaf2 | leaf | 4, root + 16: math.MaxUint64, root + 96: 0xbad0,
		leaf1 + 128: 0, leaf1 + 8: 0xfff, leaf1 + 136: 0xa000, leaf1 + 16: 0x1fff, leaf1 + 144: 0xa100, leaf1 + 24: 0, leaf1 + 152: 0xbad0,
		leaf2 + 128: 0xa200, leaf2 + 8: 0x3fff, leaf2 + 136: 0, leaf2 + 16: math.MaxUint64,
		0xa000: 0x1000, 0xa010: 0xa100, 0xa100: 0x2000, 0xa110: 0xa200, 0xa200: 0x3000, 0xa210: 0,
	})
	want := map[uint64]uint64{0x1000: 0xa000, 0x2000: 0xa100, 0x3000: 0xa200}
	for _, lacks := range []string{"struct mm_struct.mmap", "struct mm_struct.mm_mt.ma_root"} {
		tasks, err := FindTasks(namespace, m.read, layout(lacks))
		if err != nil {
			t.Fatal(err)
		}
		if got := tasks.Mappings(task); !maps.Equal(got, want) {
			t.Errorf("without %s: %#x", lacks, got)
		}
	}
}

// Memory may hold anything by the time that it is read.
func FuzzTasks(f *testing.F) {
	fuzzing.Bound(f)
	for _, lacks := range []string{"", "struct mm_struct.mm_mt.ma_root"} {
		f.Add([]byte{nodeMark, 6, 0, 0x19, 0x1b, 0, 1, 2, 3, 0xff}, 70, lacks == "")
	}
	f.Fuzz(func(t *testing.T, data []byte, number int, tree bool) {
		lacks := "struct mm_struct.mmap"
		if !tree {
			lacks = "struct mm_struct.mm_mt.ma_root"
		}
		read := func(address uint64, b []byte) bool {
			for i := range b {
				if len(data) == 0 {
					return false
				}
				b[i] = data[(address+uint64(i))%uint64(len(data))]
			}
			return true
		}
		tasks, err := FindTasks(namespace, read, layout(lacks))
		if err != nil {
			t.Fatal(err)
		}
		tasks.most = 1000
		address, ok := tasks.Find(number)
		if ok && tasks.half(address) != uint32(number) {
			t.Errorf("thread %d at %#x is another", number, address)
		}
		tasks.File(address, number)
		if n := len(tasks.Mappings(address)); n > 1000 {
			t.Errorf("%d mappings", n)
		}
	})
}
