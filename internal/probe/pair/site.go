package pair

import (
	"github.com/ringtap/ringtap/internal/arch"
	"github.com/ringtap/ringtap/perfevent"
)

// Site describes the place of a probe: the kind of code, and how much of the call's frame is
// set up there. On a return instruction the frame is as at the entry.
type Site struct {
	Return bool // the kernel's return probe, which hits after the return address was popped
	Kernel bool // in the kernel's code
	// StackEnd reads the upper end of a goroutine's stack from a record, for calls of compiled
	// Go code. It is nil for all other code.
	StackEnd func(raw []byte) (uint64, bool)
}

// Task is the owner of a call: a thread, in user mode or in the kernel, or a goroutine.
type Task struct {
	kernel  bool
	process uint32 // of a goroutine; 0 for a thread
	ID      uint64 // thread id; address of the goroutine's g; for an idle task, its CPU plus 1<<32
}

// Prepare makes a sampling's records carry what Place needs.
func (s Site) Prepare(sampling *perfevent.Sampling) {
	switch {
	case s.Kernel:
		sampling.IntrRegs |= arch.Mask(arch.Here.SP)
	case s.StackEnd != nil:
		sampling.Raw = true
		sampling.UserRegs |= arch.Mask(arch.Here.SP, arch.Here.Goroutine)
	default:
		sampling.UserRegs |= arch.Mask(arch.Here.SP)
	}
}

// Place returns the task of a call and the place of its frame, from a sample of its entry or
// return. Deeper frames on a stack have lower places.
func (s Site) Place(sample *perfevent.Sample) (Task, uint64) {
	regs := &sample.Regs
	if s.Kernel {
		regs = &sample.IntrRegs
	}
	pointer, _ := regs.Value(int(arch.Here.SP.Perf))
	if s.StackEnd != nil {
		// A return instruction has not popped anything yet.
		end, _ := s.StackEnd(sample.Raw)
		g, _ := regs.Value(int(arch.Here.Goroutine.Perf))
		// Relative to the stack's end, so that deeper frames have lower places here too.
		return Task{process: sample.PID, ID: g}, pointer - end
	}
	if s.Return {
		pointer -= uint64(arch.Here.CallPushes) // already popped by the return
	}
	if sample.TID == 0 {
		// Each CPU has its own idle task, all with thread id 0.
		return Task{kernel: s.Kernel, ID: uint64(sample.CPU) | 1<<32}, pointer
	}
	return Task{kernel: s.Kernel, ID: uint64(sample.TID)}, pointer
}
