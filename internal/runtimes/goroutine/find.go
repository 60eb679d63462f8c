package goroutine

import (
	"encoding/binary"
	"fmt"

	"github.com/ringtap/ringtap/callchain"
	"github.com/ringtap/ringtap/internal/object/gotable"
	"github.com/ringtap/ringtap/internal/process"
)

// Process is the process to read, with the caller's model of it. Find and Goroutines use Space
// and Unwinder on the caller's goroutine.
type Process struct {
	PID      int
	Space    *process.Process // must be up to date
	Unwinder *callchain.Unwinder
}

// Runtime is a Go runtime in a process. It belongs to one goroutine and is valid as long as the
// process's mappings do not change.
type Runtime struct {
	Path    string // of its program or library
	Version string // of Go, in its own words: "go1.26.8"

	process Process
	memory  memory
	arch    callchain.Arch
	layout  layout
	reasons []string
	list    uint64         // address of runtime.allgs; 0: search for it in bss
	bss     symbol         // in the process
	sems    symbol         // runtime.semtable in the process; its address is 0 if unknown
	table   *gotable.Table // may be nil
	bias    uint64
	stacks  *callchain.Interner
	system  map[uint64]bool // see isSystem; by start address
	clock   bool            // its clock is ours
}

// Find finds the Go runtimes of a process whose goroutines can be read: one in a Go program.
// Other programs may have loaded libraries written in Go. If it finds none, the error is an
// *UnknownError, or wraps ErrNotGo, or says why the process can't be read.
func Find(p Process) ([]*Runtime, error) {
	var found []*Runtime
	var unknown error
	seen := make(map[*process.Object]bool)
	for m := range p.Space.Mapped {
		if m.Object.Kind != process.File || seen[m.Object] {
			continue
		}
		seen[m.Object] = true
		program := openProgram(m)
		if program == nil {
			continue
		}
		r, err := open(p, processMemory(p.PID), program)
		switch {
		case err != nil && unknown == nil:
			unknown = err
		case err == nil:
			found = append(found, r)
		}
	}
	switch {
	case len(found) > 0:
		return found, nil
	case unknown != nil:
		return nil, unknown
	}
	return nil, fmt.Errorf("process %d: %w", p.PID, ErrNotGo)
}

// open attaches to the runtime of a program.
func open(process Process, mem memory, p *program) (*Runtime, error) {
	r := &Runtime{Path: p.path, Version: p.version, process: process, memory: mem, arch: callchain.Host(), bias: p.bias,
		stacks: callchain.NewInterner(), system: make(map[uint64]bool), clock: sameClock(process.PID)}
	unknown := func(why string) error { return &UnknownError{path: r.Path, version: r.Version, Why: why} }
	if why := p.supported(r.arch); why != "" {
		return nil, unknown(why)
	}
	symbols := p.symbols()
	if s, ok := symbols[buildVersion]; ok && r.Version == "" {
		r.Version = r.text(s.addr + p.bias)
	}
	var tableErr error
	if r.table, tableErr = p.functions(); tableErr != nil && symbols[allgs].addr == 0 {
		return nil, unknown("it has neither a symbol table nor a function table: " + tableErr.Error())
	}
	if s, ok := symbols[semtable]; ok {
		r.sems = symbol{s.addr + p.bias, s.size}
	}
	switch s, ok := symbols[allgs]; {
	case ok:
		r.list = s.addr + p.bias
	case r.table.BSSEnd <= r.table.BSS:
		return nil, unknown("it has no symbol table, and its function table does not say where variables are")
	default:
		r.bss = symbol{r.table.BSS + p.bias, r.table.BSSEnd - r.table.BSS}
	}
	why, err := r.learn(p, symbols)
	if err != nil {
		return nil, err
	}
	if why != "" {
		return nil, unknown(why)
	}
	return r, nil
}

// learn finds the layout of goroutines. It uses the table of releases. If the release is not in
// the table or its layout does not fit, it uses the debug information. why says why both
// failed, or is "".
func (r *Runtime) learn(p *program, symbols map[string]symbol) (why string, err error) {
	minor, isRelease := minorOf(r.Version)
	if isRelease && minor < oldest {
		return fmt.Sprintf("releases before Go 1.%d are not known", oldest), nil
	}
	why = fmt.Sprintf("the releases that are known are Go 1.%d to 1.%d", oldest, newest)
	if l, reasons, ok := known(minor, r.arch); isRelease && ok {
		r.layout, r.reasons = l, reasons
		if why, err = r.check(); why == "" || err != nil {
			return why, err
		}
	}
	function := symbols[allgadd].addr
	if function == 0 && r.table != nil {
		function = functionNamed(r.table, allgadd)
	}
	l, missing := layoutOf(p.image, function)
	if missing != "" {
		return fmt.Sprintf("%s, and %s (go build without -ldflags=-s or -w keeps what is needed)", why, missing), nil
	}
	r.layout = l
	r.reasons = r.readReasons(symbols[reasonsTable])
	return r.check()
}

// maxReasons bounds the number of wait reasons.
const maxReasons = 256

// readReasons reads the runtime's names of wait reasons. It returns none if their address is
// unknown.
func (r *Runtime) readReasons(table symbol) (reasons []string) {
	if table.addr == 0 {
		return nil
	}
	for i := range min(table.size/16, maxReasons) {
		reasons = append(reasons, r.text(table.addr+r.bias+i*16))
	}
	return reasons
}

// maxText bounds strings, in bytes.
const maxText = 128

// text reads a string variable. It returns "" if it can't be read.
func (r *Runtime) text(addr uint64) string {
	var head [16]byte
	if ok, err := readAt(r.memory, addr, head[:]); err != nil || !ok {
		return ""
	}
	b := make([]byte, min(binary.LittleEndian.Uint64(head[8:]), maxText))
	if ok, err := readAt(r.memory, binary.LittleEndian.Uint64(head[:]), b); err != nil || !ok {
		return ""
	}
	return string(b)
}

// functionNamed returns the address of the function with that name, or 0 if there is none.
func functionNamed(t *gotable.Table, name string) uint64 {
	for i := range t.Len {
		if f := t.Func(i); string(t.Name(f.Name(), len(name)+1)) == name {
			return f.Entry
		}
	}
	return 0
}

// nameOf returns the name of a Go function, or "" if the table has none.
func nameOf(t *gotable.Table, f *gotable.Func) string {
	return string(t.Name(f.Name(), maxText))
}
