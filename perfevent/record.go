package perfevent

// RecordType is the kernel's number of a kind of record (enum perf_event_type
// in include/uapi/linux/perf_event.h).
type RecordType uint32

// Record is one decoded record: *Sample, *Mmap, *Comm, *Fork, *Exit, *Lost,
// *LostSamples, *Throttle, *Switch, *Namespaces, *Cgroup, *Ksymbol or
// *TextPoke.
//
// A record and every slice in it belong to the session: they lie in the ring
// itself and are valid until the function they were handed to returns. Whoever
// keeps a part of one copies it.
type Record interface {
	// Common returns what records of all types carry.
	Common() *Header
}

// Header is what records of all types carry.
type Header struct {
	Type RecordType
	Misc uint16 // PERF_RECORD_MISC_* bits, some with a meaning per type
	// PID and TID are the process and the thread that ran when the record
	// was written, as the pid namespace of the session numbers.
	// They are not always those that the record is about.
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
	Addr     uint64 // of Sampling.Addr
	// Period is how many events the sample stands for: nanoseconds for a
	// clock, 1 or an event's weight for a tracepoint.
	Period    uint64
	Cgroup    uint64    // of Sampling.Cgroup
	Callchain []uint64  // leaf first, with PERF_CONTEXT_* markers before each part
	Raw       []byte    // of Sampling.Raw; the kernel pads it with zeros
	Regs      Registers // of user mode, of Sampling.UserRegs
	IntrRegs  Registers // of where the event happened, of Sampling.IntrRegs
	Stack     []byte    // what was copied, from the stack pointer up; may be short or empty
}

// Registers are the registers at a sample. A kernel thread has no user
// registers: ABI is 0 and Values is empty.
type Registers struct {
	ABI    uint64   // 0 none, 1 those of 32 bit code, 2 of 64 bit code (enum perf_sample_regs_abi)
	Mask   uint64   // which registers, by the kernel's perf_regs.h numbers
	Values []uint64 // one for each bit of Mask, lowest bit first
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
	BuildID         []byte // instead of device and inode where the event asked for it; else nil
	Prot, Flags     uint32 // as mmap(2) has them
	Filename        []byte // the path, or "[vdso]", "//anon" and the like; no NUL
}

// Comm says that a thread has a new name, by exec or by its own wish.
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
	PPID, PTID uint32 // the one that made it
}

// Exit says that a thread ended. The process ends with the last of its threads.
type Exit struct {
	Header
	PID, TID   uint32
	PPID, PTID uint32 // the parent process
}

// Lost says that records did not fit in the ring. The kernel attributes them to
// the event that wrote next, not to the events that lost.
type Lost struct {
	Header
	EventID uint64
	Lost    uint64 // number of records since the last Lost record of this ring
}

// LostSamples says that the hardware lost samples before they were records.
type LostSamples struct {
	Header
	Lost uint64
}

// Throttle says that the kernel stopped an event because it fired too often, or
// with Unthrottle that it goes on.
type Throttle struct {
	Header
	Unthrottle bool
	EventID    uint64
}

// Switch says that the thread of the header was switched to, or with Out away
// from. It is the kernel's SWITCH record for targets that are processes, and
// SWITCH_CPU_WIDE for the others.
type Switch struct {
	Header
	Out     bool
	Preempt bool // with Out: it could have gone on
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

// Namespaces says which namespaces a thread is in. It comes with a fork and
// with a change.
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

// Ksymbol says that kernel code came (a BPF program, an ftrace trampoline) or
// went. No session asks for it; perf record does.
type Ksymbol struct {
	Header
	Addr       uint64
	Len        uint32
	Kind       uint16 // PERF_RECORD_KSYMBOL_TYPE_*
	Unregister bool
	Name       []byte
}

// TextPoke says that the kernel changed its own code. No session asks for it.
type TextPoke struct {
	Header
	Addr     uint64
	Old, New []byte // the bytes before and after; either may be empty
}
