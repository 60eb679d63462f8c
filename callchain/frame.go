package callchain

// ObjectID identifies one piece of code memory (an ELF file, the kernel, the vdso, the
// anonymous memory of one process) during a run. The caller assigns the ids; zero is always the
// kernel.
type ObjectID uint32

// Kernel is the object of every kernel frame. Its offsets are kernel virtual
// addresses as perf reports them.
const Kernel ObjectID = 0

// Frame is one level of a callchain: a place in an object, independent of where processes have
// mapped that object.
//
// If the object is a file, Offset is the file offset of the code byte: address − mapping start
// + mapping offset. The file need not be opened for that. For the kernel and for memory without
// a file it is the virtual address. For a caller, Offset is one byte before the return address,
// which is inside the call instruction. That is the place to look up the function, line and
// unwind rule. PC returns the address to show to people.
type Frame struct {
	Object ObjectID
	// Return is true if the frame made a call: Offset+1 is the return address. It is false for
	// the leaf, and for code that a signal interrupted.
	Return bool
	Offset uint64
}

// PC returns the offset that debuggers and the kernel show: the return address for a caller,
// Offset for every other frame.
func (f Frame) PC() uint64 {
	if f.Return {
		return f.Offset + 1
	}
	return f.Offset
}

// caller returns the frame of a call at this place.
func (p *place) caller() Frame {
	f := p.frame
	f.Return = true
	return f
}
