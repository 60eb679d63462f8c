package perfevent

import (
	"math/bits"

	"golang.org/x/sys/unix"
)

// RecordType is the kernel's number of a kind of record (enum perf_event_type
// in include/uapi/linux/perf_event.h).
type RecordType uint32

// Record is one decoded record: *Sample, *Mmap, *Comm, *Fork, *Exit, *Lost,
// *LostSamples, *Throttle, *Switch, *Namespaces, *Cgroup or *Ksymbol.
//
// A record and every slice in it belong to the session. They may lie in the ring itself, and
// are valid until the function that received them returns. To keep a part, copy it.
type Record interface {
	// Common returns what records of all types carry.
	Common() *Header
}

// Header is what records of all types carry.
type Header struct {
	Type RecordType
	Misc uint16 // PERF_RECORD_MISC_* bits, some with a meaning per type
	// PID and TID are the process and the thread that ran when the record was written,
	// numbered in the session's pid namespace. The record may be about another process or
	// thread.
	PID, TID uint32
	Time     uint64 // CLOCK_MONOTONIC, nanoseconds
	CPU      uint32
	ID       uint64 // the kernel's id of the event that wrote the record
}

// Common returns h.
func (h *Header) Common() *Header { return h }

// Sample is one hit of a sampling event.
type Sample struct {
	Header
	Sampling int    // which of the session's samplings, as an index
	IP       uint64 // instruction pointer
	Addr     uint64 // the address that Sampling.Addr requests
	// Period is how many events the sample stands for: nanoseconds for a
	// clock, 1 or an event's weight for a tracepoint.
	Period    uint64
	Cgroup    uint64    // the id that Sampling.Cgroup requests
	Callchain []uint64  // leaf first, with PERF_CONTEXT_* markers before each part
	Raw       []byte    // see Sampling.Raw; the kernel pads it with zeros
	Regs      Registers // user registers: see Sampling.UserRegs
	IntrRegs  Registers // registers where the event happened: see Sampling.IntrRegs
	Stack     []byte    // copy of the user stack, from the stack pointer up; may be short or empty
}

// Registers are the registers at a sample. A kernel thread has no user
// registers: ABI is 0 and Values is empty.
type Registers struct {
	ABI    uint64   // 0 none, 1 32-bit code, 2 64-bit code (enum perf_sample_regs_abi)
	Mask   uint64   // which registers, by the kernel's perf_regs.h numbers
	Values []uint64 // one for each bit of Mask, lowest bit first
}

// Value returns the value of register n, which is a number of the kernel's asm/perf_regs.h, and
// reports whether the sample has that register.
func (r *Registers) Value(n int) (uint64, bool) {
	i := bits.OnesCount64(r.Mask & (1<<n - 1))
	if r.Mask>>n&1 == 0 || i >= len(r.Values) {
		return 0, false
	}
	return r.Values[i], true
}

// Mmap says that a process mapped executable memory. Mmap covers the kernel's
// MMAP and MMAP2 records; the former has no file identity, protection or flags.
type Mmap struct {
	Header
	PID, TID        uint32 // the process that mapped, and its thread
	Addr, Len       uint64 // the virtual address and the length in bytes
	Pgoff           uint64 // the offset in the file, in bytes
	Major, Minor    uint32 // the file's device
	Inode           uint64
	InodeGeneration uint64
	BuildID         []byte // if the event requests it, instead of device and inode; else nil
	Prot, Flags     uint32 // the arguments of mmap(2)
	Filename        []byte // the path, or "[vdso]", "//anon" and the like; no NUL
}

// Comm says that a thread has a new name, because it called execve(2) or set its name.
type Comm struct {
	Header
	PID, TID uint32
	Exec     bool // the name is that of a newly executed program
	Name     []byte
}

// Fork says that a process or thread was born. It is a thread when PID equals
// PPID.
type Fork struct {
	Header
	PID, TID   uint32 // the new one
	PPID, PTID uint32 // its creator
}

// Exit says that a thread ended. The process ends with the last of its threads.
type Exit struct {
	Header
	PID, TID   uint32
	PPID, PTID uint32 // the parent process
}

// Lost says that records did not fit in the ring. The kernel attributes them to the event that
// wrote next, not to the events whose records were lost.
type Lost struct {
	Header
	EventID uint64
	Lost    uint64 // number of records since the last Lost record of this ring
}

// LostSamples says that the hardware lost samples before the kernel could record them.
type LostSamples struct {
	Header
	Lost uint64
}

// Throttle says that the kernel stopped an event because it fired too often. If Unthrottle is
// set, the kernel started it again.
type Throttle struct {
	Header
	Unthrottle bool
	EventID    uint64
}

// Switch says that the CPU switched to the header's thread, or away from it if Out is set. It
// is the kernel's SWITCH record if the event is on a thread, and SWITCH_CPU_WIDE if it is on a
// CPU.
type Switch struct {
	Header
	Out     bool
	Preempt bool // with Out: the thread could have continued
	CPUWide bool // OtherPID and OtherTID are known
	// The thread that runs next (Out) or ran before.
	OtherPID, OtherTID uint32
}

// Indexes of Namespaces.Links, the kernel's order.
const (
	NamespaceNet = iota
	NamespaceUTS
	NamespaceIPC
	NamespacePID
	NamespaceUser
	NamespaceMount
	NamespaceCgroup
)

// Namespace identifies a namespace by the device and inode of its file in
// /proc/PID/ns.
type Namespace struct {
	Dev, Inode uint64
}

// Namespaces says which namespaces a thread is in. It comes when the thread is created and when
// it changes a namespace.
type Namespaces struct {
	Header
	PID, TID uint32
	Links    []Namespace // indexed by Namespace...; later kernels may add some
}

// Cgroup says which path a new cgroup id has.
type Cgroup struct {
	Header
	CgroupID uint64
	Path     []byte // below the hierarchy's root
}

// Ksymbol says that kernel code was added (a BPF program, an ftrace trampoline) or removed. A
// Session does not request it; perf record does.
type Ksymbol struct {
	Header
	Addr       uint64
	Len        uint32
	Kind       uint16 // PERF_RECORD_KSYMBOL_TYPE_*
	Unregister bool
	Name       []byte
}

// Now reads the clock that records carry: CLOCK_MONOTONIC, in nanoseconds.
func Now() uint64 {
	var t unix.Timespec
	if err := unix.ClockGettime(unix.CLOCK_MONOTONIC, &t); err != nil {
		return 0 // cannot happen: the clock always exists
	}
	return uint64(t.Nano())
}
