package interp

import (
	"encoding/binary"
	"errors"

	"github.com/ringtap/ringtap/callchain"
	"github.com/ringtap/ringtap/internal/process"
)

// Process is a process that is looked for runtimes.
type Process struct {
	PID     int // in its innermost pid namespace, where its main thread has the same number
	Memory  Memory
	Arch    callchain.Arch
	Modules []*Module // by address
	Files
}

// Files are those that a process has mapped, at any time. The zero value has none.
type Files struct{ space *process.Process }

// NewProcess lists the modules of a process of this machine, by the caller's model of it.
// The pid may be that of any thread that has the process's memory still.
func NewProcess(pid int, space *process.Process) *Process {
	p := &Process{PID: space.NSPID, Memory: Live(pid), Arch: callchain.Host(), Files: Files{space}}
	seen := make(map[*process.Object]bool)
	for m := range space.Mapped {
		if m.Object.Kind != process.File || seen[m.Object] {
			continue
		}
		seen[m.Object] = true
		if module := open(space, m); module != nil {
			p.Modules = append(p.Modules, module)
		}
	}
	return p
}

// Path is that of the file that an object is, "" if the process has none mapped.
func (f Files) Path(id callchain.ObjectID) string {
	if f.space != nil {
		for m := range f.space.Mapped {
			if m.Object.ID == id && m.Object.Kind == process.File {
				return m.Object.Path
			}
		}
	}
	return ""
}

// Symbol is the first symbol of that name in all modules.
func (p *Process) Symbol(name string) (Symbol, bool) {
	for _, m := range p.Modules {
		if s, ok := m.Symbol(name); ok {
			return s, true
		}
	}
	return Symbol{}, false
}

// ThreadID is how far behind the address that pthread_self returns to a thread libc has
// its id: glibc says so to libthread_db, by three numbers of 32 bits (bits, elements,
// offset).
func (p *Process) ThreadID() (offset uint64, ok bool) {
	s, ok := p.Symbol("_thread_db_pthread_tid")
	if !ok {
		return 0, false
	}
	var b [12]byte
	if !p.Memory.Read(s.Addr, b[:]) || binary.LittleEndian.Uint32(b[:]) != 32 {
		return 0, false
	}
	offset = uint64(binary.LittleEndian.Uint32(b[8:]))
	return offset, offset < maxThread
}

// maxThread is more bytes than libc's structure of a thread has.
const maxThread = 1 << 14

// Detector looks whether a module holds a runtime and attaches to it. It returns nil
// without an error where there is none, and an *UnknownError where there is one that
// can't be read.
type Detector func(p *Process, m *Module) (Runtime, error)

// Attach attaches to the runtimes of a process. The errors of those that can't be read
// are joined.
func Attach(p *Process, detectors []Detector) ([]Runtime, error) {
	var found []Runtime
	var errs []error
	for _, m := range p.Modules {
		for _, detect := range detectors {
			r, err := detect(p, m)
			if err != nil {
				errs = append(errs, err)
			} else if r != nil {
				found = append(found, r)
			}
		}
	}
	return found, errors.Join(errs...)
}

// UnknownError says that a runtime's calls can't be read, and why.
type UnknownError struct {
	Name string // of the runtime, with its version if that is known
	Why  string
	Help string // what of the runtime would help instead, "" if nothing
}

func (e *UnknownError) Error() string {
	text := "functions of " + e.Name + ": " + e.Why
	if e.Help != "" {
		text += " (" + e.Help + ")"
	}
	return text
}
