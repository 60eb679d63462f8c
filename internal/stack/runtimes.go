package stack

import (
	"fmt"
	"path"
	"slices"
	"strings"
	"sync/atomic"
	"time"

	"github.com/ringtap/ringtap/callchain"
	"github.com/ringtap/ringtap/internal/interp"
	"github.com/ringtap/ringtap/internal/interp/hotspot"
	"github.com/ringtap/ringtap/internal/interp/languages"
	"github.com/ringtap/ringtap/internal/interp/v8"
	"github.com/ringtap/ringtap/internal/process"
)

// Functions is in place of the object of a frame that is a function of a runtime: of
// Java, of JavaScript. The frame's offset is its index in Set.Functions.
const Functions = Labels - 1

// Function is a function of a runtime at a place.
type Function struct {
	interp.Level
	Runtime string // "HotSpot 17"
}

// maxFunctions bounds the functions that are kept for the run. Past that, frames are
// places in memory.
const maxFunctions = 1 << 18

// Runtimes finds the functions of runtimes in the frames of live processes. It is asked
// while they live, and so names what ends before a report is made. It belongs to one
// goroutine.
type Runtimes struct {
	processes *process.Table

	all   []Function
	index map[Function]int
	by    map[*process.Process]*hosted
	errs  []error
	// refused is set when the memory of a process was to be read too often.
	refused atomic.Bool
	// moments has the calls of interpreted code; nil: they are not asked for.
	moments Moments
}

// NewRuntimes knows no process of the table yet.
func NewRuntimes(processes *process.Table) *Runtimes {
	return &Runtimes{processes: processes, index: make(map[Function]int), by: make(map[*process.Process]*hosted)}
}

// forget forgets the ids of stacks.
func (f *Runtimes) forget() {
	for _, h := range f.by {
		h.crossed.version = 0
	}
}

// Functions are what frames of the object Functions stand for. Later calls return more.
func (f *Runtimes) Functions() []Function { return slices.Clip(f.all) }

// Errors returns, once each, why the functions of runtimes that were found can't be told.
func (f *Runtimes) Errors() []error {
	if f.refused.Swap(false) {
		f.failRefused()
	}
	errs := f.errs
	f.errs = nil
	return errs
}

// failRefused notes of which processes reads were refused.
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

// hosted is a process that may host a runtime. It implements callchain.Runtime.
type hosted struct {
	to       *Runtimes
	version  uint64          // of the mappings that were looked at
	runtime  interp.Stepper  // nil: none was found
	memory   *metered        // of the last attempt to attach; nil: there was none
	heap     *interpreted    // nil: no interpreter whose calls are in its heap was found
	compiler interp.Compiler // one of those; nil: none compiles code
	cut      uint64          // when a sample's stack was cut first; 0: none was
	deep     bool            // its stacks are read beyond the copies
	crosses  bool            // its stacks are read where they go on on other stacks
	crossed  crossed
	mapped   bool      // the process names its code itself
	failed   int       // attempts to attach
	again    time.Time // when the next attempt is due, after one that failed
	levels   []interp.Level
}

// The runtime of a process may just be starting. Attempts to attach are so far apart, at first,
// and then twice as far each time: the last one is two and a half seconds after the first.
const (
	maxFailed  = 9
	firstPause = 10 * time.Millisecond
)

// maxHosted bounds the processes that are remembered.
const maxHosted = 1 << 12

// Of is what knows the functions of a process; nil for most.
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

// hosted is what is known of a process.
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

// due reports whether it is time to look for a runtime: the mappings are others, or an attempt
// failed a while ago.
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

// attach looks for a runtime in the files that a process has mapped.
func (h *hosted) attach(p *process.Process) {
	candidate := false
	for m := range p.Mapped {
		candidate = candidate || m.Object.Kind == process.File && (mayBeRuntime(m.Object.Path) || h.to.moments != nil && MayBeInterpreter(m.Object.Path))
	}
	if !candidate {
		return
	}
	if h.to.processes.Refuses() {
		h.version = 0 // it is asked again: the sample is
		return
	}
	of := interp.NewProcess(p.PID, p)
	h.memory = &metered{mem: of.Memory, left: readsAtOnce, full: time.Now(), refused: &h.to.refused}
	of.Memory = h.memory
	if h.to.moments != nil {
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
			h.to.moments.Watch(p, namers)
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

// fail notes an attempt that failed.
func (h *hosted) fail(p *process.Process, err error) {
	h.again = time.Now().Add(firstPause << h.failed)
	if h.failed++; h.failed == maxFailed {
		h.to.fail(p.PID, err)
	}
}

// maxErrors bounds the errors that nobody has asked for.
const maxErrors = 16

func (f *Runtimes) fail(pid int, err error) {
	if len(f.errs) < maxErrors {
		f.errs = append(f.errs, fmt.Errorf("process %d: %w", pid, err))
	}
}

// detect finds a runtime whose calls have a frame each.
func detect(p *interp.Process, m *interp.Module) (interp.Stepper, error) {
	if r, err := hotspot.Detect(p, m); r != nil || err != nil {
		return r, err
	}
	return v8.Detect(p, m)
}

// mayBeRuntime tells by a file's name whether it is worth a look.
func mayBeRuntime(file string) bool {
	name := path.Base(file)
	return name == "libjvm.so" || name == "node" || name == "nodejs" || strings.HasPrefix(name, "libnode.so")
}

// Step is of callchain.Runtime.
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

// frame is the frame that stands for a function; false if there is no room.
func (f *Runtimes) frame(of Function) (callchain.Frame, bool) {
	i, ok := f.index[of]
	if !ok {
		if len(f.all) >= maxFunctions {
			return callchain.Frame{}, false
		}
		i = len(f.all)
		f.all = append(f.all, of)
		f.index[of] = i
	}
	return callchain.Frame{Object: Functions, Offset: uint64(i)}, true
}
