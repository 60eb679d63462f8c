package callchain

// ObjectID names one piece of code memory (an ELF file, the kernel, the vdso,
// the anonymous memory of one process) for the length of a run. The caller
// hands the ids out; zero is always the kernel.
type ObjectID uint32

// Kernel is the object of every kernel frame. Its offsets are kernel virtual
// addresses as perf reports them.
const Kernel ObjectID = 0

// Frame is one level of a callchain: a place in an object, independent of
// where any process has mapped that object.
//
// For an object that is a file, Offset is the file offset of the code byte
// (address − mapping start + mapping offset), so that it can be computed
// without opening the file. For the kernel and for memory without a file it is
// the virtual address. In every frame but the leaf the offset is that of the
// return address minus one, so that it lies inside the calling instruction.
type Frame struct {
	Object ObjectID
	Offset uint64
}
