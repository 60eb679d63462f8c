package look

import (
	"slices"
	"time"

	"github.com/ringtap/ringtap/internal/snapshot"
	"github.com/ringtap/ringtap/internal/text/escape"
)

// jsonSnapshot is a snapshot of a process as JSON. Unknown values are omitted.
type jsonSnapshot struct {
	Time    time.Time    `json:"time"` // RFC 3339
	PID     int          `json:"pid"`
	NSPID   int          `json:"nspid"` // in its innermost pid namespace
	Comm    string       `json:"comm"`
	Command string       `json:"command,omitempty"`
	Cgroup  string       `json:"cgroup,omitempty"`
	Stopped int64        `json:"stopped_ns,omitempty"` // how long it was stopped for the snapshot
	Threads []jsonThread `json:"threads"`

	Deadlocks [][]int `json:"deadlocks,omitempty"` // thread ids of cycles that contain threads of this process

	Runtimes   []string        `json:"go,omitempty"` // versions of the Go runtimes
	Goroutines []jsonGoroutine `json:"goroutines,omitempty"`

	Notes []string `json:"notes,omitempty"`
}

// jsonThread is a thread. Its stacks start with the innermost function.
type jsonThread struct {
	TID       int         `json:"tid"`
	Comm      string      `json:"comm"`
	State     string      `json:"state"`               // the letter of proc_pid_stat(5)
	Waited    *int64      `json:"waited_ns,omitempty"` // since it was on a CPU
	Looks     int         `json:"looks"`               // snapshots in a row with this wait
	Syscall   string      `json:"syscall,omitempty"`   // in words
	Holder    *jsonHolder `json:"holder,omitempty"`
	Kernel    []string    `json:"kernel,omitempty"`
	Wchan     string      `json:"wchan,omitempty"`
	User      []jsonPlace `json:"user,omitempty"`
	Truncated bool        `json:"truncated,omitempty"` // the callers of the last frame are unknown
	Sampled   bool        `json:"sampled,omitempty"`   // the thread runs, and the stacks are a sample
	Missing   string      `json:"missing,omitempty"`   // why there is no user stack

	Uninterpreted string `json:"uninterpreted,omitempty"` // why the user stack lacks interpreted functions
}

// jsonGoroutine is a goroutine. Its stack starts with the innermost function.
type jsonGoroutine struct {
	ID        uint64      `json:"id"`
	Parent    uint64      `json:"parent,omitempty"`
	State     string      `json:"state"`               // as in Go's tracebacks
	Looks     int         `json:"looks"`               // snapshots in a row with this wait
	Waited    *int64      `json:"waited_ns,omitempty"` // roughly, from the runtime
	Thread    int         `json:"tid,omitempty"`       // that it runs on
	Locked    bool        `json:"locked,omitempty"`    // to its thread
	Lock      string      `json:"lock,omitempty"`      // lock or channel that it waits for
	System    bool        `json:"system,omitempty"`    // belongs to the runtime
	User      []jsonPlace `json:"user,omitempty"`
	Truncated bool        `json:"truncated,omitempty"`
	Missing   string      `json:"missing,omitempty"`
	Creator   string      `json:"creator,omitempty"`
}

// jsonPlace is a frame of a user stack.
type jsonPlace struct {
	Name    string `json:"name,omitempty"`
	Offset  uint64 `json:"offset"`            // from the function's start, or in the object if there is no name
	Inlined bool   `json:"inlined,omitempty"` // into the next frame: it has no offset of its own
	Object  string `json:"object"`            // "" for an interpreted function
	Runtime string `json:"runtime,omitempty"` // runtime that interprets the function
	File    string `json:"file,omitempty"`
	Line    int    `json:"line,omitempty"`
}

// jsonHolder is who holds what a thread waits for.
type jsonHolder struct {
	What    string `json:"what"`
	PID     int    `json:"pid,omitempty"`
	TID     int    `json:"tid,omitempty"`
	Name    string `json:"name"`
	Ended   bool   `json:"ended,omitempty"`
	Readers int    `json:"readers,omitempty"` // number of readers of a rwlock, which does not record who they are
	Passes  bool   `json:"passes,omitempty"`  // the lock passed from thread to thread during the look; no holder is named
}

func jsonOf(s *snapshot.Snapshot, still snapshot.Still, circles [][]*snapshot.Thread) *jsonSnapshot {
	out := &jsonSnapshot{Time: s.Time, PID: s.PID, NSPID: s.NSPID, Comm: escape.Text(s.Comm), Command: escape.Text(s.Command),
		Cgroup: escape.Text(s.Cgroup), Stopped: int64(s.Stopped), Threads: []jsonThread{}, Notes: s.Notes}
	for _, t := range s.Threads {
		thread := jsonThread{TID: t.TID, Comm: escape.Text(t.Comm), State: string(t.State), Looks: still.Threads[t.TID].Looks, Syscall: escape.Text(t.Call),
			Kernel: t.Kernel, Wchan: t.Wchan, Truncated: t.Truncated, Sampled: t.Sampled, Missing: t.Missing, Uninterpreted: t.Uninterpreted}
		if t.Known {
			waited := int64(t.Waited)
			thread.Waited = &waited
		}
		if h := t.Holder; h != nil {
			thread.Holder = &jsonHolder{escape.Text(h.Lock.String()), h.PID, h.TID, escape.Text(h.Name), h.Ended, h.Readers, h.Passes}
		}
		thread.User = jsonPlaces(t.User)
		out.Threads = append(out.Threads, thread)
	}
	for _, circle := range circles {
		if slices.ContainsFunc(circle, func(t *snapshot.Thread) bool { return slices.Contains(s.Threads, t) }) {
			out.Deadlocks = append(out.Deadlocks, ids(circle))
		}
	}
	out.Runtimes = s.Runtimes
	for _, g := range s.Goroutines {
		goroutine := jsonGoroutine{ID: g.ID, Parent: g.Parent, State: g.State, Looks: still.Goroutines[g.ID].Looks, Thread: g.Thread, Locked: g.Locked, Lock: escape.Text(goLock(g)), System: g.System,
			User: jsonPlaces(g.User), Truncated: g.Truncated, Missing: g.Missing, Creator: escape.Text(g.Creator)}
		if g.Known {
			waited := int64(g.Waited)
			goroutine.Waited = &waited
		}
		out.Goroutines = append(out.Goroutines, goroutine)
	}
	return out
}

func ids(threads []*snapshot.Thread) (tids []int) {
	for _, t := range threads {
		tids = append(tids, t.TID)
	}
	return tids
}

func jsonPlaces(frames []snapshot.Frame) (places []jsonPlace) {
	for _, f := range frames {
		places = append(places, jsonPlace{escape.Text(f.Name), f.Offset, f.Inlined, escape.Text(f.Object), escape.Text(f.Runtime), escape.Text(f.File), f.Line})
	}
	return places
}
