package stacks

import (
	"fmt"
	"path"
	"strings"

	"github.com/ringtap/ringtap/callchain"
	"github.com/ringtap/ringtap/internal/process"
	"github.com/ringtap/ringtap/internal/stack"
	"github.com/ringtap/ringtap/internal/text/escape"
)

// Frame is a named frame of a stack.
type Frame struct {
	Function string // demangled; "" if it is not known
	Offset   uint64 // in the function, in bytes; of the return address less one for a caller
	Object   string // path of the file, "[kernel]", "[vdso]", "[module]", "[anon]", "[HotSpot 17]"; raw bytes
	Address  uint64 // offset in the object's file; an address in the kernel and in memory without a file
	Kernel   bool
}

// String is the function, or the object and the place in it where no name is known:
// "libfoo.so+0x1234". Control characters are escaped.
func (f Frame) String() string {
	if f.Function != "" {
		return escape.Text(f.Function)
	}
	return fmt.Sprintf("%s+%#x", escape.Text(path.Base(f.Object)), f.Address)
}

// Frames names the frames of a stack, leaf first: the kernel's, then the user's.
func (s *Stacks) Frames(st Stack) []Frame {
	var frames []callchain.Frame
	for _, id := range []callchain.StackID{st.kernel, st.user} {
		if id != stack.None {
			frames = append(frames, s.store.Stack(id).Frames...)
		}
	}
	return s.Name(frames)
}

// Truncated reports whether callers of the stack's outermost user frame are missing,
// because less of the stack was copied than there was.
func (s *Stacks) Truncated(st Stack) bool {
	return st.user != stack.None && s.store.Stack(st.user).Truncated
}

// Name names frames, in their order: the kernel's, or those that an Unwinder has found
// in a Process of this Stacks. An object without a Stack ends with its last mapping;
// its frames then have no name.
func (s *Stacks) Name(frames []callchain.Frame) []Frame {
	objects := s.processes.Objects()
	list := make([]Frame, len(frames))
	var known []callchain.Frame
	var at []int // their places in list
	for i, f := range frames {
		list[i] = Frame{Address: f.Offset, Object: "[unknown]"}
		if objects[f.Object] != nil || f.Object >= stack.Functions {
			known, at = append(known, f), append(at, i)
		}
	}
	named, in := s.names.Stack(s.store.Set([]stack.Stack{{Frames: known}}))
	for i, f := range named {
		o := &in[f.Object]
		list[at[i]] = Frame{Function: f.Name, Offset: f.Offset, Object: o.Path, Address: f.Address, Kernel: o.Kernel}
	}
	return list
}

// Folded returns a stack as one line, the input of flame graphs: the process's
// name, then the functions from the root to the leaf, separated by semicolons. Frames
// of the kernel end in "_[k]".
func (s *Stacks) Folded(st Stack) string {
	frames := s.Frames(st)
	parts := make([]string, 1, len(frames)+1)
	parts[0] = escape.Text(st.Comm())
	for i := len(frames) - 1; i >= 0; i-- {
		name := frames[i].String()
		if frames[i].Kernel {
			name += "_[k]"
		}
		parts = append(parts, name)
	}
	for i := range parts {
		parts[i] = strings.ReplaceAll(parts[i], ";", ":")
	}
	return strings.Join(parts, ";")
}

// Process is a process of this machine: what it has mapped, and what its code is
// called. It is a callchain.AddressSpace, for an Unwinder of one's own.
type Process struct {
	stacks  *Stacks
	process *process.Process
}

var (
	_ callchain.AddressSpace = Process{}
	_ callchain.Versioned    = Process{}
	_ callchain.Probed       = Process{}
)

// Process returns the process with a pid as of the last record. One that was not heard
// of is read from /proc; one that is not there has no mappings.
func (s *Stacks) Process(pid int) Process { return Process{s, s.processes.Process(pid)} }

// PID is the process's number.
func (p Process) PID() int { return p.process.PID }

// Comm is the process's name, raw bytes.
func (p Process) Comm() string { return p.process.Comm }

// Find returns the executable mapping that holds an address.
func (p Process) Find(pc uint64) (callchain.Mapping, bool) { return p.process.Find(pc) }

// Version changes with every change of the mappings.
func (p Process) Version() uint64 { return p.process.Version() }

// Trampoline is where the kernel has return probes return to, 0 if there are none.
func (p Process) Trampoline() uint64 { return p.process.Trampoline() }

// Name names an address of the process's code, false if nothing executable is mapped
// there.
func (p Process) Name(pc uint64) (Frame, bool) {
	m, ok := p.process.Find(pc)
	if !ok {
		return Frame{}, false
	}
	return p.stacks.Name([]callchain.Frame{{Object: m.Object, Offset: pc - m.Start + m.Offset}})[0], true
}
