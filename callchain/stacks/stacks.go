package stacks

import (
	"log/slog"

	"github.com/ringtap/ringtap/callchain"
	"github.com/ringtap/ringtap/internal/process"
	"github.com/ringtap/ringtap/internal/stack"
	"github.com/ringtap/ringtap/internal/stack/symbolize"
	"github.com/ringtap/ringtap/perfevent"
)

// Options are the choices of a Stacks. The zero value is right for most: user and
// kernel frames, unwound by the tables that compilers leave, and by frame pointers in
// code that has none.
type Options struct {
	// NoKernel leaves out the kernel's frames.
	NoKernel bool
	// FramePointers has the kernel walk frame pointers. Samples are small then, and the
	// callers of code that keeps no frame pointers are lost.
	FramePointers bool
	// Logger is told what could not be read; nil discards it.
	Logger *slog.Logger
}

// Stacks makes stacks of samples and names them. Close frees it.
type Stacks struct {
	processes *process.Table
	store     *stack.Store
	stacker   *stack.Stacker
	names     *symbolize.Symbolizer
}

// New makes a Stacks that knows no process yet: see Snapshot and Handle.
func New(opts Options) *Stacks {
	s := &Stacks{
		processes: process.NewTable(process.Options{Unwind: !opts.FramePointers, Logger: opts.Logger}),
		names:     symbolize.New(symbolize.Options{CachePerfMaps: true, Logger: opts.Logger}),
	}
	s.store = stack.NewStore(s.processes, nil)
	s.processes.Hold(s.store.Objects)
	stacks := stack.Stacks{User: true, Kernel: !opts.NoKernel, Unwind: stack.Auto}
	if opts.FramePointers {
		stacks.Unwind = stack.FP
	}
	s.stacker = s.store.Stacker(stacks)
	return s
}

// Prepare has a sampling carry what its samples' stacks are made of: callchain,
// registers and a copy of the stack. ExcludeKernel and the frequency must be set before.
func (s *Stacks) Prepare(sampling *perfevent.Sampling) { s.stacker.Prepare(sampling) }

// Snapshot reads the processes with the given pids, or all if there are none, from
// /proc. It is called after perfevent.Open and before the first Handle, so that
// nothing is missed between the two, with perfevent.Session.Processes: of a command that
// perfevent has started it reads the program, which was mapped before. A process that is
// gone is no error.
func (s *Stacks) Snapshot(pids ...int) error { return s.processes.Snapshot(pids...) }

// Handle takes a record that tells of processes, and ignores all others. Records are
// to come in the order in which a perfevent.Session hands them on.
func (s *Stacks) Handle(record perfevent.Record) { s.processes.Handle(record) }

// Stack is the stack of a sample: its process, and its user and kernel frames. Equal
// samples have equal stacks, so that it is a key to count by. It means something to
// the Stacks that made it only.
type Stack struct {
	process      *process.Process
	user, kernel callchain.StackID
}

// PID is the process.
func (s Stack) PID() int { return s.process.PID }

// Comm is the name of the process, raw bytes.
func (s Stack) Comm() string { return s.process.Comm }

// Sample makes the stack of a sample of a sampling that Prepare has prepared.
func (s *Stacks) Sample(sample *perfevent.Sample) Stack {
	p := s.processes.Process(int(int32(sample.PID)))
	kernel, _ := s.store.Kernel(s.stacker, sample)
	return Stack{process: p, user: s.store.User(s.stacker, p, sample).ID, kernel: kernel}
}

// Close closes the files that are open. Stacks can't be named any more.
func (s *Stacks) Close() error {
	s.processes.Close()
	return s.names.Close()
}
