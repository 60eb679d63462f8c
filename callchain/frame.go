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
// the virtual address. It is the place whose function, line and unwind rule the
// frame has: for a caller one byte before the return address, so that it lies
// inside the calling instruction. PC gives the address that people are shown.
type Frame struct {
	Object ObjectID
	// Return says that the frame made a call: Offset+1 is the return address.
	// The leaf has made none, and neither has code that a signal interrupted.
	Return bool
	Offset uint64
}

// PC is the offset that debuggers and the kernel print of the frame: that of the
// return address itself for a caller, Offset for every other frame.
func (f Frame) PC() uint64 {
	if f.Return {
		return f.Offset + 1
	}
	return f.Offset
}

// caller is the frame of a place that made a call.
func (p *place) caller() Frame {
	f := p.frame
	f.Return = true
	return f
}
