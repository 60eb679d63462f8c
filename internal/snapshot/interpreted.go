package snapshot

import (
	"github.com/ringtap/ringtap/callchain"
	"github.com/ringtap/ringtap/internal/runtimes/interp"
	"github.com/ringtap/ringtap/internal/runtimes/languages"
)

// interpreters are the runtimes of interpreted languages in a process.
type interpreters struct {
	runtimes []interp.Runtime
	walkers  []interp.Walker
	calls    []interp.Call // buffer for one walk
}

// maxCalls is how many calls of a thread are read. It exceeds every runtime's default recursion
// limit.
const maxCalls = 1 << 14

// Why a thread's stack lacks interpreted functions, or has them at unknown places.
const (
	unread    = "the thread runs: its interpreted functions are not known; --stop reads them"
	senseless = "its interpreted functions could not be read"
	misplaced = "which of these called native functions is not known"
)

// attach finds the runtimes in the process.
func (l *look) attach() {
	runtimes, err := interp.Attach(interp.NewProcess(l.user.pid, l.user.space, nil), languages.Detectors())
	if err != nil {
		l.snapshot.Notes = append(l.snapshot.Notes, err.Error())
	}
	in := &l.interpreters
	in.runtimes = runtimes
	for _, r := range runtimes {
		in.walkers = append(in.walkers, r.Walker(nil))
		if c, ok := r.(interp.Compiler); ok {
			l.user.compiler = c
		}
	}
	if len(runtimes) > 0 {
		in.calls = make([]interp.Call, 0, maxCalls)
	}
}

// interpreted is one level of a stack that contains interpreted calls.
type interpreted struct {
	native int     // index of the native frame, -1 for an interpreted one
	frames []Frame // of the call, innermost first
}

// interpreted joins the interpreted calls of a thread that is not running with its native frames.
// If it cannot, why says so.
func (l *look) interpreted(t *Thread, native []callchain.Frame, end callchain.End) (levels []interpreted, why string) {
	if len(l.interpreters.runtimes) == 0 {
		return nil, ""
	}
	own := t.TID
	if l.nested() {
		status, err := l.host().Status(t.TID)
		if err != nil {
			return nil, "" // it has ended
		}
		own = status.NSPID
	}
	return l.interpreters.walk(own, native, end != callchain.Complete)
}

// walk joins the interpreted calls of a thread that is not running with its native frames. It
// returns nil if there are none.
func (in *interpreters) walk(tid int, native []callchain.Frame, truncated bool) (levels []interpreted, why string) {
	var chains []interp.Chain
	for i, w := range in.walkers {
		calls, end := w.Walk(in.calls[:0], &interp.Thread{TID: tid})
		if end == callchain.Lost {
			return nil, senseless
		}
		if len(calls) > 0 {
			chains = append(chains, interp.Chain{Runtime: in.runtimes[i], Calls: append([]interp.Call(nil), calls...)})
		}
	}
	if len(chains) == 0 {
		return nil, ""
	}
	entries, fits := interp.Join(nil, native, truncated, chains)
	if !fits {
		why = misplaced
	}
	for _, e := range entries {
		level := interpreted{native: e.Native}
		if e.Native < 0 {
			named, ok := e.Chain.Runtime.Frames(nil, e.Call)
			if !ok {
				return nil, senseless
			}
			for _, f := range named {
				level.frames = append(level.frames, Frame{Name: f.Function, Runtime: e.Chain.Runtime.Name(), File: f.File, Line: f.Line})
			}
		}
		levels = append(levels, level)
	}
	return levels, why
}

// runs reports whether a native frame is the interpreter loop of a runtime.
func (in *interpreters) runs(f callchain.Frame) bool {
	for _, r := range in.runtimes {
		if r.Loop(f) {
			return true
		}
	}
	return false
}
