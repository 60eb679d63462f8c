package report

import (
	"encoding/json"
	"fmt"
	"io"
	"strconv"
	"time"

	"github.com/ringtap/ringtap/internal/escape"
	"github.com/ringtap/ringtap/internal/profile"
)

// Schema and SchemaVersion are the first two fields of the JSON form. The
// version grows when a field changes its meaning or goes away; a new field is
// no new version.
const (
	Schema        = "ringtap-profile"
	SchemaVersion = 2
)

// jsonProfile is the JSON form: one object of tables that name each other's
// entries by index from zero. -1 is no entry. Addresses are hexadecimal
// strings, because a JavaScript number can't hold a kernel address. Names are
// escaped as in every form; an empty name is left out, as is every field that
// says it is optional.
type jsonProfile struct {
	Schema    string    `json:"schema"`  // "ringtap-profile"
	Version   int       `json:"version"` // 2
	Collector string    `json:"collector"`
	Event     string    `json:"event"`             // as perf names it
	Command   string    `json:"command,omitempty"` // command line of the profiler
	Host      string    `json:"host,omitempty"`
	Start     time.Time `json:"start"`               // RFC 3339
	Duration  int64     `json:"duration_ns"`         // length of the window
	Period    int64     `json:"period_ns,omitempty"` // time one sample stands for

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
	Scale uint64 `json:"scale"` // units that one count stands for; of "percent" it is no sum of rows
}

// jsonObject is a file, the kernel or memory that holds code.
type jsonObject struct {
	Path    string `json:"path"`
	BuildID string `json:"build_id,omitempty"` // hexadecimal
	Kernel  bool   `json:"kernel,omitempty"`
	Labels  bool   `json:"labels,omitempty"` // no code: its frames' names are words of the collector
}

// jsonFrame is one place in an object. Without a name the function is unknown.
type jsonFrame struct {
	Object  int        `json:"object"`             // index into objects
	Address string     `json:"address"`            // offset in the file, or the virtual address; of a caller the return address
	Name    string     `json:"name,omitempty"`     // demangled
	RawName string     `json:"raw_name,omitempty"` // where it differs from name
	Offset  uint64     `json:"offset,omitempty"`   // bytes from the function's start to address
	Unnamed bool       `json:"unnamed,omitempty"`  // no table has the name: it is the object's with the function's first address
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

// jsonProcess is one life of a process between exec calls.
type jsonProcess struct {
	PID    int    `json:"pid"`
	NSPID  int    `json:"nspid"` // in its innermost pid namespace
	TGID   int    `json:"tgid"`
	Comm   string `json:"comm"`
	Cgroup string `json:"cgroup,omitempty"`
}

// jsonRow is one counted combination.
type jsonRow struct {
	Process int      `json:"process"` // index into processes
	User    int      `json:"user"`    // index into stacks, or -1
	Kernel  int      `json:"kernel"`  // index into stacks, or -1
	Values  []uint64 `json:"values"`  // counts, one for each metric
}

// jsonAccount is the bookkeeping of one event.
type jsonAccount struct {
	Event       string  `json:"event"`
	Received    uint64  `json:"received"`
	Lost        uint64  `json:"lost"`
	Others      uint64  `json:"others,omitempty"`      // of other processes, left out; the lost are of all
	Overwritten uint64  `json:"overwritten,omitempty"` // kept for an alarm, and let go of
	LeftOut     uint64  `json:"left_out,omitempty"`    // of those received: ringtap's own, idle, past the end
	Throttled   uint64  `json:"throttled"`
	Counted     *uint64 `json:"counted,omitempty"`  // only where received + lost + overwritten must be equal to it
	Truncated   uint64  `json:"truncated"`          // stacks cut short
	Joined      uint64  `json:"joined,omitempty"`   // stacks cut short that whole ones stand for
	Early       uint64  `json:"early,omitempty"`    // of those cut short, before the stacks of their process were read beyond the copies
	Broken      uint64  `json:"broken"`             // stacks that end before their outermost function
	Unmapped    uint64  `json:"unmapped,omitempty"` // samples without a user stack, at addresses in no known mapping
	Unkept      uint64  `json:"unkept"`             // stacks counted on one row, as memory was full
	Unknown     uint64  `json:"unknown"`            // frames without a name
}

// WriteJSON writes the whole of p as one JSON object of the schema Schema. The
// options are not used.
func WriteJSON(w io.Writer, p *profile.Profile, _ FileOptions) error {
	if err := check(p); err != nil {
		return err
	}
	if err := json.NewEncoder(w).Encode(toJSON(p)); err != nil {
		return fmt.Errorf("write JSON: %w", err)
	}
	return nil
}

func toJSON(p *profile.Profile) *jsonProfile {
	return &jsonProfile{
		Schema:    Schema,
		Version:   SchemaVersion,
		Collector: escape.Text(p.Collector),
		Event:     escape.Text(p.Event),
		Command:   escape.Text(p.Command),
		Host:      escape.Text(p.Host),
		Start:     p.Start,
		Duration:  int64(p.Duration),
		Period:    int64(p.Period),
		Metrics: each(p.Metrics, func(m profile.Metric) jsonMetric {
			return jsonMetric{escape.Text(m.Name), escape.Text(m.Type), escape.Text(m.Unit), max(m.Scale, 1)}
		}),
		Objects: each(p.Objects, func(o profile.Object) jsonObject {
			return jsonObject{escape.Text(o.Path), escape.Text(o.BuildID), o.Kernel, o.Labels}
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

// each returns f of every element; never nil, so that JSON has [] and not null.
func each[A, B any](in []A, f func(A) B) []B {
	out := make([]B, len(in))
	for i := range in {
		out[i] = f(in[i])
	}
	return out
}
