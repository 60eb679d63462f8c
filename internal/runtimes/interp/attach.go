package interp

import (
	"encoding/binary"
	"errors"

	"github.com/ringtap/ringtap/callchain"
	"github.com/ringtap/ringtap/internal/process"
)

// Process is a process to search for runtimes.
type Process struct {
	PID     int // in its innermost pid namespace; also the id of its main thread there
	Memory  Memory
	Arch    callchain.Arch
	Modules []*Module // by address
	Files
}

// Files gives the paths of the files that a process has mapped. The zero value has none.
type Files struct{ space *process.Process }

// NewProcess returns a process of this machine with its modules. pid may be the id of any of
// its threads that still has the process's memory; space is the caller's model of it. cache may be nil.
func NewProcess(pid int, space *process.Process, cache *Cache) *Process {
	p := &Process{PID: space.NSPID, Memory: Live(pid), Arch: callchain.Host(), Files: Files{space}}
	seen := make(map[*process.Object]bool)
	for m := range space.Mapped {
		if m.Object.Kind != process.File || seen[m.Object] {
			continue
		}
		seen[m.Object] = true
		if module := open(space, m); module != nil {
			module.cache = cache
			p.Modules = append(p.Modules, module)
		}
	}
	return p
}

// Path returns the path of the file with that ObjectID, or "" if the process has not mapped it.
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

// Symbol returns the first symbol with that name in any module.
func (p *Process) Symbol(name string) (Symbol, bool) {
	for _, m := range p.Modules {
		if s, ok := m.Symbol(name); ok {
			return s, true
		}
	}
	return Symbol{}, false
}

// ThreadID returns the offset of the thread's id in libc's thread structure, whose address
// pthread_self returns. glibc publishes it for libthread_db as three 32-bit numbers: bits,
// elements, offset.
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

// maxThread is more than the size of libc's thread structure, in bytes.
const maxThread = 1 << 14

// Detector attaches to the runtime in a module. It returns nil without an error if there is no
// runtime, and an *UnknownError if there is one that it can't read.
type Detector func(p *Process, m *Module) (Runtime, error)

// Attach attaches to all runtimes of a process. It joins the errors of those that can't be
// read.
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

// UnknownError is returned when the calls of a runtime can't be read.
type UnknownError struct {
	Name string // the runtime's, with its version if known
	Why  string
	Help string // what the user can do with the runtime instead; "" if nothing
}

func (e *UnknownError) Error() string {
	text := "functions of " + e.Name + ": " + e.Why
	if e.Help != "" {
		text += " (" + e.Help + ")"
	}
	return text
}
