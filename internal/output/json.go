package output

import (
	"encoding/json"
	"fmt"
	"io"
	"strconv"
	"time"

	"github.com/ringtap/ringtap/internal/profile"
	"github.com/ringtap/ringtap/internal/text/escape"
)

// schema and schemaVersion are the first two fields of the JSON form. The version increases when a
// field changes its meaning or is removed, but not for a new field.
const (
	schema        = "ringtap-profile"
	schemaVersion = 2
)

// jsonProfile is the JSON form: one object with lists whose entries refer to each other by index
// from zero. -1 means none. Addresses are hexadecimal strings, because a JavaScript number cannot
// hold a kernel address. Names are escaped as in every form. Empty optional fields are omitted.
type jsonProfile struct {
	Schema    string    `json:"schema"`  // "ringtap-profile"
	Version   int       `json:"version"` // 2
	Collector string    `json:"collector"`
	Event     string    `json:"event"`             // in perf's notation
	Command   string    `json:"command,omitempty"` // command line of the profiler
	Host      string    `json:"host,omitempty"`
	Start     time.Time `json:"start,omitzero"`      // RFC 3339; missing if unknown
	Duration  int64     `json:"duration_ns"`         // length of the window
	Period    int64     `json:"period_ns,omitempty"` // time that one sample stands for

	Metrics   []jsonMetric  `json:"metrics"`
	Objects   []jsonObject  `json:"objects"`
	Frames    []jsonFrame   `json:"frames"`
	Stacks    []jsonStack   `json:"stacks"`
	Processes []jsonProcess `json:"processes"`
	Rows      []jsonRow     `json:"rows"`
	Accounts  []jsonAccount `json:"accounts"`
	Notes     []string      `json:"notes"`
}

// jsonMetric is one column of the rows' values.
type jsonMetric struct {
	Name  string `json:"name"`
	Type  string `json:"type"`
	Unit  string `json:"unit"`
	Scale uint64 `json:"scale"` // units that one count stands for; values of "percent" cannot be added up
	// Running says that the metric counts what happens while a stack's leaf runs.
	Running bool `json:"running,omitempty"`
}

// jsonObject is a file, the kernel or memory that contains code.
type jsonObject struct {
	Path    string `json:"path"`
	BuildID string `json:"build_id,omitempty"` // hexadecimal
	Kernel  bool   `json:"kernel,omitempty"`
	Labels  bool   `json:"labels,omitempty"`  // no code: frame names are words of the collector
	Marks   bool   `json:"marks,omitempty"`   // with labels: the words mark places where callers are missing
	Runtime string `json:"runtime,omitempty"` // whose functions the frames are, "HotSpot 17"; missing for native code
}

// jsonFrame is one address in an object. If it has no name, the function is unknown.
type jsonFrame struct {
	Object  int        `json:"object"`             // index into objects
	Address string     `json:"address"`            // offset in the file, or virtual address; for a caller, the return address
	Name    string     `json:"name,omitempty"`     // demangled
	RawName string     `json:"raw_name,omitempty"` // if it differs from name
	Offset  uint64     `json:"offset,omitempty"`   // bytes from the function's start to address
	Unnamed bool       `json:"unnamed,omitempty"`  // not in any symbol table: the name is the object with the function's start address
	Lines   []jsonLine `json:"lines,omitempty"`    // innermost inlined function first
}

// jsonLine is one level of inlining.
type jsonLine struct {
	Function string `json:"function"`
	File     string `json:"file,omitempty"`
	Line     int    `json:"line,omitempty"`
	Start    int    `json:"start,omitempty"` // line of the declaration
}

// jsonStack is a list of indexes into frames.
type jsonStack struct {
	Frames    []int `json:"frames"` // root first
	Truncated bool  `json:"truncated,omitempty"`
}

// jsonProcess is a process between two exec calls.
type jsonProcess struct {
	PID    int    `json:"pid"`
	NSPID  int    `json:"nspid"` // PID in the innermost PID namespace
	TGID   int    `json:"tgid"`
	Comm   string `json:"comm"`
	Cgroup string `json:"cgroup,omitempty"`
}

// jsonRow is the counts of one combination of process and stacks.
type jsonRow struct {
	Process int      `json:"process"` // index into processes
	User    int      `json:"user"`    // index into stacks, or -1
	Kernel  int      `json:"kernel"`  // index into stacks, or -1
	Values  []uint64 `json:"values"`  // counts, one per metric
}

// jsonAccount is the account of one event.
type jsonAccount struct {
	Event       string  `json:"event"`
	Received    uint64  `json:"received"`
	Lost        uint64  `json:"lost"`
	Others      uint64  `json:"others,omitempty"`      // of other processes, left out; lost includes theirs
	Overwritten uint64  `json:"overwritten,omitempty"` // kept for an alarm, then overwritten
	LeftOut     uint64  `json:"left_out,omitempty"`    // part of received: ringtap's own, idle, after the end
	Throttled   uint64  `json:"throttled"`
	Counted     *uint64 `json:"counted,omitempty"`  // only if received + lost + overwritten must equal it
	Stacks      uint64  `json:"stacks,omitempty"`   // samples with a user stack
	Truncated   uint64  `json:"truncated"`          // stacks cut short
	Joined      uint64  `json:"joined,omitempty"`   // truncated stacks that were completed from a whole one
	Early       uint64  `json:"early,omitempty"`    // part of truncated: before ringtap read more of that process's stacks than the copies
	Broken      uint64  `json:"broken"`             // stacks that end before their outermost function
	Unmapped    uint64  `json:"unmapped,omitempty"` // samples without a user stack, at addresses outside known mappings
	Unkept      uint64  `json:"unkept"`             // stacks counted in one row because memory was full
	Unknown     uint64  `json:"unknown"`            // frames without a name
}

// writeJSON writes all of p as one JSON object. It ignores the options.
func writeJSON(w io.Writer, p *profile.Profile, _ FileOptions) error {
	if err := Check(p); err != nil {
		return err
	}
	if err := json.NewEncoder(w).Encode(toJSON(p)); err != nil {
		return fmt.Errorf("write JSON: %w", err)
	}
	return nil
}

func toJSON(p *profile.Profile) *jsonProfile {
	return &jsonProfile{
		Schema:    schema,
		Version:   schemaVersion,
		Collector: escape.Text(p.Collector),
		Event:     escape.Text(p.Event),
		Command:   escape.Text(p.Command),
		Host:      escape.Text(p.Host),
		Start:     p.Start,
		Duration:  int64(p.Duration),
		Period:    int64(p.Period),
		Metrics: each(p.Metrics, func(m profile.Metric) jsonMetric {
			return jsonMetric{escape.Text(m.Name), escape.Text(m.Type), escape.Text(m.Unit), max(m.Scale, 1), m.Running}
		}),
		Objects: each(p.Objects, func(o profile.Object) jsonObject {
			return jsonObject{escape.Text(o.Path), escape.Text(o.BuildID), o.Kernel, o.Labels, o.Marks, escape.Text(o.Runtime)}
		}),
		Frames: each(p.Frames, jsonFrameOf),
		Stacks: each(p.Stacks, func(s profile.Stack) jsonStack {
			return jsonStack{append([]int{}, s.Frames...), s.Truncated}
		}),
		Processes: each(p.Processes, func(q profile.Process) jsonProcess {
			return jsonProcess{q.PID, q.NSPID, q.TGID, escape.Text(q.Comm), escape.Text(q.Cgroup)}
		}),
		Rows: each(p.Rows, func(r profile.Row) jsonRow {
			return jsonRow{r.Process, r.User, r.Kernel, allValues(p, &r)}
		}),
		Accounts: each(p.Accounts, jsonAccountOf),
		Notes:    each(p.AllNotes(), escape.Text),
	}
}

func jsonFrameOf(f profile.Frame) jsonFrame {
	out := jsonFrame{
		Object:  f.Object,
		Address: "0x" + strconv.FormatUint(f.PC(), 16),
		Name:    escape.Text(f.Name),
		Offset:  f.Offset,
		Unnamed: f.Unnamed,
		Lines: each(f.Lines, func(l profile.Line) jsonLine {
			return jsonLine{escape.Text(l.Function), escape.Text(l.File), l.Line, l.Start}
		}),
	}
	if f.RawName != f.Name {
		out.RawName = escape.Text(f.RawName)
	}
	return out
}

func jsonAccountOf(a profile.Account) jsonAccount {
	out := jsonAccount{
		Event:       escape.Text(a.Event),
		Received:    a.Received,
		Lost:        a.Lost,
		Others:      a.Others,
		Overwritten: a.Overwritten,
		LeftOut:     a.LeftOut,
		Throttled:   a.Throttled,
		Stacks:      a.Stacks,
		Truncated:   a.Truncated,
		Joined:      a.Joined,
		Early:       a.Early,
		Broken:      a.Broken,
		Unmapped:    a.Unmapped,
		Unkept:      a.Unkept,
		Unknown:     a.Unknown,
	}
	if a.Exact {
		out.Counted = &a.Counted
	}
	return out
}

// each returns f of every element. The result is never nil, so that JSON has [] instead of null.
func each[A, B any](in []A, f func(A) B) []B {
	out := make([]B, len(in))
	for i := range in {
		out[i] = f(in[i])
	}
	return out
}
