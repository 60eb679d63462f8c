package pair

import "github.com/ringtap/ringtap/perfevent"

// Site is where an event is: in which kind of code, and how far the frame of the
// call is set up or taken down. A probe on a return instruction is where one at the
// entry is.
type Site struct {
	Return bool // the kernel's return probe, which is hit when the return address is popped
	Kernel bool // in the kernel's code
	// StackEnd reads the upper end of a goroutine's stack out of a record, for
	// the calls of compiled Go code; nil for all others.
	StackEnd func(raw []byte) (uint64, bool)
}

// Task is what a call belongs to: a thread, in user mode or in the kernel, or of Go
// code a goroutine.
type Task struct {
	Kernel  bool
	Process uint32 // of a goroutine; 0 of a thread
	ID      uint64 // the thread's, the address of the goroutine's g, or of an idle task its CPU and 1<<32
}

// Prepare has a sampling's records carry what Place needs.
func (s Site) Prepare(sampling *perfevent.Sampling) {
	switch {
	case s.Kernel:
		sampling.IntrRegs |= 1 << stackPointer
	case s.StackEnd != nil:
		sampling.Raw = true
		sampling.UserRegs |= 1<<stackPointer | 1<<goroutine
	default:
		sampling.UserRegs |= 1 << stackPointer
	}
}

// Place is the task of a call and where its frame is, by a sample of its entry or
// of its return. Deeper frames of a stack have lower places.
func (s Site) Place(sample *perfevent.Sample) (Task, uint64) {
	regs := &sample.Regs
	if s.Kernel {
		regs = &sample.IntrRegs
	}
	pointer, _ := register(regs, stackPointer)
	if s.StackEnd != nil {
		// A return instruction has not popped anything yet.
		end, _ := s.StackEnd(sample.Raw)
		g, _ := register(regs, goroutine)
		// From the end down, so that what is deeper is less here too.
		return Task{Process: sample.PID, ID: g}, pointer - end
	}
	if s.Return {
		pointer -= returnPops
	}
	if sample.TID == 0 {
		// Each CPU has an idle task of its own, all of one number.
		return Task{Kernel: s.Kernel, ID: uint64(sample.CPU) | 1<<32}, pointer
	}
	return Task{Kernel: s.Kernel, ID: uint64(sample.TID)}, pointer
}

// register returns one of the registers that a sample has.
func register(r *perfevent.Registers, number uint) (uint64, bool) {
	if r.Mask>>number&1 == 0 {
		return 0, false
	}
	i := 0
	for mask := r.Mask & (1<<number - 1); mask != 0; mask &= mask - 1 {
		i++
	}
	if i >= len(r.Values) {
		return 0, false
	}
	return r.Values[i], true
}
