package stack

import (
	"fmt"
	"path"
	"slices"
	"strings"
	"sync/atomic"
	"time"

	"github.com/ringtap/ringtap/callchain"
	"github.com/ringtap/ringtap/internal/process"
	"github.com/ringtap/ringtap/internal/runtimes/hotspot"
	"github.com/ringtap/ringtap/internal/runtimes/interp"
	"github.com/ringtap/ringtap/internal/runtimes/languages"
	"github.com/ringtap/ringtap/internal/runtimes/v8"
)

// Functions is the object of frames that are functions of a runtime, such as Java or JavaScript.
// The frame's offset is the index of the function in Set.Functions.
const Functions = Labels - 1

// Function is a function of a runtime, and a position in it.
type Function struct {
	interp.Level
	Runtime string // "HotSpot 17"
}

// maxFunctions bounds the functions that are kept for the run. Beyond it, frames show addresses.
const maxFunctions = 1 << 18

// Runtimes finds the runtime functions of frames while their process is alive. So code that is gone
// when the report is made has names. Only one goroutine may use it.
type Runtimes struct {
	processes *process.Table

	all   []Function
	index map[Function]int
	by    map[*process.Process]*hosted
	errs  []error
	cache interp.Cache // of interpreters' code
	// refused is set when reads of some process's memory exceeded the limit: see metered.
	refused atomic.Bool
	// reader reads memory at samples; nil if nothing is read there.
	reader SampleReader
}

// NewRuntimes returns a Runtimes for the processes of a table.
func NewRuntimes(processes *process.Table) *Runtimes {
	return &Runtimes{processes: processes, index: make(map[Function]int), by: make(map[*process.Process]*hosted)}
}

// forget forgets stack IDs.
func (f *Runtimes) forget() {
	for _, h := range f.by {
		h.crossed.version = 0
	}
}

// Functions returns the functions of frames whose object is Functions. Later calls may return more.
func (f *Runtimes) Functions() []Function { return slices.Clip(f.all) }

// Errors returns why functions of runtimes could not be named, each error once.
func (f *Runtimes) Errors() []error {
	if f.refused.Swap(false) {
		f.failRefused()
	}
	errs := f.errs
	f.errs = nil
	return errs
}

// failRefused adds an error for each process whose reads were refused.
func (f *Runtimes) failRefused() {
	for p, h := range f.by {
		if h.memory == nil {
			continue
		}
		if err := h.memory.errRefused(); err != nil {
			f.fail(p.PID, err)
		}
	}
}

// hosted is a process that may have a runtime. It implements callchain.Runtime.
type hosted struct {
	to       *Runtimes
	version  uint64          // of the mappings that were searched
	runtime  interp.Stepper  // nil if none was found
	memory   *metered        // of the last attempt to attach; nil if there was none
	heap     *interpreted    // interpreters that keep their calls on the heap; nil if none was found
	compiler interp.Compiler // the one of these that compiles code; nil if there is none
	cut      uint64          // time of the first sample with a cut stack; 0: none
	deep     bool            // stacks are read beyond the copies
	crosses  bool            // stacks are read where they continue on other stacks
	crossed  crossed
	mapped   bool      // the process has a perf map or the like, with its own names
	failed   int       // number of failed attempts to attach
	again    time.Time // time of the next attempt, after a failed one
	levels   []interp.Level
}

// A runtime may just be starting when ringtap attaches to it. After a failed attempt, ringtap waits
// firstPause, and twice as long after each further one. The last attempt is two and a half seconds
// after the first.
const (
	maxFailed  = 9
	firstPause = 10 * time.Millisecond
)

// maxHosted bounds the remembered processes.
const maxHosted = 1 << 12

// Of returns the runtime of a process, or nil. Most processes have none.
func (f *Runtimes) Of(host process.Host, p *process.Process) callchain.Runtime {
	h := f.hosted(host, p)
	switch {
	case h.runtime != nil:
		return h
	case h.compiler != nil:
		return h.compiler
	}
	return nil
}

// hosted returns what is known about a process. It attaches to its runtime when that is due.
func (f *Runtimes) hosted(host process.Host, p *process.Process) *hosted {
	h := f.by[p]
	if h == nil {
		if len(f.by) >= maxHosted {
			clear(f.by)
		}
		h = &hosted{to: f}
		f.by[p] = h
	}
	if h.runtime == nil && h.heap == nil && h.due(p) && host.Live() {
		h.attach(p)
	}
	return h
}

// due reports whether to look for a runtime now: the mappings have changed, or an attempt failed a
// while ago.
func (h *hosted) due(p *process.Process) bool {
	switch {
	case h.failed >= maxFailed:
		return false
	case h.failed > 0:
		return time.Now().After(h.again)
	case h.version == p.Version():
		return false
	}
	h.version = p.Version()
	return true
}

// attach looks for a runtime in the files that the process has mapped.
func (h *hosted) attach(p *process.Process) {
	candidate := false
	for m := range p.Mapped {
		candidate = candidate || m.Object.Kind == process.File && (mayBeRuntime(m.Object.Path) || h.to.reader != nil && MayBeInterpreter(m.Object.Path))
	}
	if !candidate {
		return
	}
	if h.to.processes.Refuses() {
		h.version = 0 // the sample comes again, and then attach is called again
		return
	}
	of := interp.NewProcess(p.PID, p, &h.to.cache)
	h.memory = &metered{mem: of.Memory, left: readsAtOnce, full: time.Now(), refused: &h.to.refused}
	of.Memory = h.memory
	if h.to.reader != nil {
		runtimes, err := interp.Attach(of, languages.Detectors())
		if len(runtimes) > 0 {
			var namers []*interp.Namer
			for _, r := range runtimes {
				namers = append(namers, interp.NewNamer(r))
				if c, ok := r.(interp.Compiler); ok {
					h.compiler = c
				}
			}
			h.heap = newInterpreted(h.to, namers)
			h.to.reader.Watch(p, namers)
		} else if err != nil {
			h.fail(p, err)
		}
	}
	for _, m := range of.Modules {
		if !mayBeRuntime(m.Path) {
			continue
		}
		runtime, err := detect(of, m)
		if err != nil {
			h.fail(p, err)
		}
		if runtime != nil {
			h.runtime, h.mapped = runtime, p.MapsCode()
			return
		}
	}
}

// fail counts a failed attempt.
func (h *hosted) fail(p *process.Process, err error) {
	h.again = time.Now().Add(firstPause << h.failed)
	if h.failed++; h.failed == maxFailed {
		h.to.fail(p.PID, err)
	}
}

// maxErrors bounds the errors that Errors has not returned yet.
const maxErrors = 16

func (f *Runtimes) fail(pid int, err error) {
	if len(f.errs) < maxErrors {
		f.errs = append(f.errs, fmt.Errorf("process %d: %w", pid, err))
	}
}

// detect looks for a runtime whose calls have one native frame each.
func detect(p *interp.Process, m *interp.Module) (interp.Stepper, error) {
	if r, err := hotspot.Detect(p, m); r != nil || err != nil {
		return r, err
	}
	return v8.Detect(p, m)
}

// mayBeRuntime reports whether a file may be a runtime, by its name.
func mayBeRuntime(file string) bool {
	name := path.Base(file)
	return name == "libjvm.so" || name == "node" || name == "nodejs" || strings.HasPrefix(name, "libnode.so")
}

// Step implements callchain.Runtime.
func (h *hosted) Step(a *callchain.Activation) {
	h.levels = h.runtime.Step(h.levels[:0], a)
	if h.mapped {
		return
	}
	for _, level := range h.levels {
		frame, ok := h.to.frame(Function{level, h.runtime.Name()})
		if !ok {
			a.Frames = a.Frames[:0]
			return
		}
		a.Frames = append(a.Frames, frame)
	}
}

// frame returns the frame for a function, or false if there is no room for it.
func (f *Runtimes) frame(function Function) (callchain.Frame, bool) {
	i, ok := f.index[function]
	if !ok {
		if len(f.all) >= maxFunctions {
			return callchain.Frame{}, false
		}
		i = len(f.all)
		f.all = append(f.all, function)
		f.index[function] = i
	}
	return callchain.Frame{Object: Functions, Offset: uint64(i)}, true
}
