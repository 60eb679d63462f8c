package read

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"slices"
	"strconv"
	"strings"

	"github.com/ringtap/ringtap/internal/profile"
)

// jsonSchema and jsonVersion are the values that internal/output writes.
const (
	jsonSchema  = "ringtap-profile"
	jsonVersion = 2
)

// jsonReader reads ringtap's JSON, which internal/output/json.go documents, one entry of a list at a
// time.
type jsonReader struct {
	in      *json.Decoder
	p       *profile.Profile
	schema  string
	version int
	seen    map[string]bool
	shares  []int // metrics that are percentages, which cannot be added up
}

func readJSON(in *bufio.Reader) (*profile.Profile, error) {
	start, err := in.Peek(40)
	if err != nil && err != io.EOF {
		return nil, err
	}
	start = bytes.Clone(start)
	r := &jsonReader{in: json.NewDecoder(in), p: &profile.Profile{}, seen: make(map[string]bool)}
	err = r.object()
	switch {
	case r.schema != jsonSchema:
		return nil, unknown(start)
	case err != nil:
		return nil, fmt.Errorf("JSON, byte %d: %w", r.in.InputOffset(), err)
	case r.version != jsonVersion:
		return nil, fmt.Errorf("the JSON is of version %d: this ringtap reads version %d", r.version, jsonVersion)
	}
	if err := r.finish(); err != nil {
		return nil, fmt.Errorf("JSON: %w", err)
	}
	return r.p, nil
}

var errTwice = errors.New("a field is there twice")

// object reads the whole file, which is one object.
func (r *jsonReader) object() error {
	if _, err := r.in.Token(); err != nil {
		return err
	}
	for r.in.More() {
		token, err := r.in.Token()
		if err != nil {
			return err
		}
		key, _ := token.(string)
		if r.seen[key] {
			return errTwice
		}
		r.seen[key] = true
		if err := r.field(key); err != nil {
			if err == io.EOF {
				err = io.ErrUnexpectedEOF
			}
			return err
		}
	}
	_, err := r.in.Token()
	if err == io.EOF {
		err = io.ErrUnexpectedEOF
	}
	return err
}

// field reads the value of a field. It skips a field that it does not know.
func (r *jsonReader) field(key string) error {
	p := r.p
	switch key {
	case "schema":
		return r.in.Decode(&r.schema)
	case "version":
		return r.in.Decode(&r.version)
	case "collector":
		return r.in.Decode(&p.Collector)
	case "event":
		return r.in.Decode(&p.Event)
	case "command":
		return r.in.Decode(&p.Command)
	case "host":
		return r.in.Decode(&p.Host)
	case "start":
		return r.in.Decode(&p.Start)
	case "duration_ns":
		return r.in.Decode((*int64)(&p.Duration))
	case "period_ns":
		return r.in.Decode((*int64)(&p.Period))
	case "metrics":
		return list(r.in, r.metric)
	case "objects":
		return list(r.in, r.codeObject)
	case "frames":
		return list(r.in, r.frame)
	case "stacks":
		return list(r.in, r.stack)
	case "processes":
		return list(r.in, r.process)
	case "rows":
		return list(r.in, r.row)
	case "accounts":
		return list(r.in, r.account)
	case "notes":
		return list(r.in, func(note *string) error { p.Notes = append(p.Notes, *note); return nil })
	}
	var other json.RawMessage
	return r.in.Decode(&other)
}

// list reads a list and calls visit with each entry.
func list[T any](in *json.Decoder, visit func(*T) error) error {
	token, err := in.Token()
	if err != nil {
		return err
	}
	if token != json.Delim('[') {
		return fmt.Errorf("want a list, not %v", token)
	}
	for in.More() {
		var entry T
		if err := in.Decode(&entry); err != nil {
			return err
		}
		if err := visit(&entry); err != nil {
			return err
		}
	}
	_, err = in.Token()
	return err
}

func (r *jsonReader) metric(m *struct {
	Name, Type, Unit string
	Scale            uint64
	Running          bool
}) error {
	if m.Name == "" {
		return errors.New("a metric has no name")
	}
	if m.Unit == "percent" {
		r.shares = append(r.shares, len(r.p.Metrics))
	}
	r.p.Metrics = append(r.p.Metrics, profile.Metric{Name: m.Name, Type: m.Type, Unit: m.Unit, Scale: max(m.Scale, 1), Running: m.Running})
	return nil
}

func (r *jsonReader) codeObject(o *struct {
	Path                  string
	BuildID               string `json:"build_id"`
	Kernel, Labels, Marks bool
	Runtime               string
}) error {
	r.p.Objects = append(r.p.Objects, profile.Object{Path: o.Path, BuildID: o.BuildID, Kernel: o.Kernel, Labels: o.Labels, Marks: o.Marks, Runtime: o.Runtime})
	return nil
}

func (r *jsonReader) frame(f *struct {
	Object  int
	Address string
	Name    string
	RawName string `json:"raw_name"`
	Offset  uint64
	Unnamed bool
	Lines   []struct {
		Function, File string
		Line, Start    int
	}
}) error {
	digits, ok := strings.CutPrefix(f.Address, "0x")
	address, err := strconv.ParseUint(digits, 16, 64)
	if !ok || err != nil {
		return fmt.Errorf("a frame's address is %.30q", f.Address)
	}
	out := profile.Frame{Object: f.Object, Address: address, Name: f.Name, RawName: f.RawName, Offset: f.Offset, Unnamed: f.Unnamed}
	if out.RawName == "" {
		out.RawName = f.Name
	}
	if address >= f.Offset {
		out.Start = address - f.Offset
	}
	for _, l := range f.Lines {
		out.Lines = append(out.Lines, profile.Line{Function: l.Function, File: l.File, Line: l.Line, Start: l.Start})
	}
	r.p.Frames = append(r.p.Frames, out)
	return nil
}

func (r *jsonReader) stack(s *struct {
	Frames    []int
	Truncated bool
}) error {
	if s.Frames == nil {
		return errors.New("a stack has no frames")
	}
	r.p.Stacks = append(r.p.Stacks, profile.Stack{Frames: slices.Clip(s.Frames), Truncated: s.Truncated})
	return nil
}

func (r *jsonReader) process(q *struct {
	PID    *int
	NSPID  int
	TGID   int
	Comm   string
	Cgroup string
}) error {
	if q.PID == nil {
		return errors.New("a process has no pid")
	}
	r.p.Processes = append(r.p.Processes, profile.Process{PID: *q.PID, NSPID: q.NSPID, TGID: q.TGID, Comm: q.Comm, Cgroup: q.Cgroup})
	return nil
}

func (r *jsonReader) row(row *struct {
	Process, User, Kernel *int
	Values                []uint64
}) error {
	if row.Process == nil || row.User == nil || row.Kernel == nil || row.Values == nil {
		return errors.New("a row has no process, stacks or values")
	}
	r.p.Rows = append(r.p.Rows, profile.Row{Process: *row.Process, User: *row.User, Kernel: *row.Kernel, Values: slices.Clip(row.Values)})
	return nil
}

func (r *jsonReader) account(a *struct {
	Event                                      *string
	Received, Lost, Others, Overwritten        uint64
	LeftOut                                    uint64 `json:"left_out"`
	Throttled                                  uint64
	Counted                                    *uint64
	Stacks                                     uint64
	Truncated, Joined, Early, Broken, Unmapped uint64
	Unkept, Unknown                            uint64
}) error {
	if a.Event == nil {
		return errors.New("an account has no event")
	}
	out := profile.Account{
		Event: *a.Event, Received: a.Received, Lost: a.Lost, Others: a.Others, Overwritten: a.Overwritten, LeftOut: a.LeftOut,
		Throttled: a.Throttled, Stacks: a.Stacks, Truncated: a.Truncated, Joined: a.Joined, Early: a.Early, Broken: a.Broken, Unmapped: a.Unmapped,
		Unkept: a.Unkept, Unknown: a.Unknown,
	}
	if a.Counted != nil {
		out.Counted, out.Exact = *a.Counted, true
	}
	r.p.Accounts = append(r.p.Accounts, out)
	return nil
}

// finish checks the indexes and the sums. It removes metrics that are percentages, because the file
// does not say which metrics they are shares of.
func (r *jsonReader) finish() error {
	p := r.p
	for i := range p.Frames {
		if o := p.Frames[i].Object; o < 0 || o >= len(p.Objects) {
			return fmt.Errorf("frame %d is in object %d of %d", i, o, len(p.Objects))
		}
	}
	for i := range p.Stacks {
		for _, f := range p.Stacks[i].Frames {
			if f < 0 || f >= len(p.Frames) {
				return fmt.Errorf("stack %d holds frame %d of %d", i, f, len(p.Frames))
			}
		}
	}
	sums := make([]uint64, len(p.Metrics))
	for i := range p.Rows {
		row := &p.Rows[i]
		if row.Process < 0 || row.Process >= len(p.Processes) {
			return fmt.Errorf("row %d is of process %d of %d", i, row.Process, len(p.Processes))
		}
		for _, s := range [2]int{row.User, row.Kernel} {
			if s < profile.None || s >= len(p.Stacks) {
				return fmt.Errorf("row %d has stack %d of %d", i, s, len(p.Stacks))
			}
		}
		if len(row.Values) != len(p.Metrics) {
			return fmt.Errorf("row %d has %d values for %d metrics", i, len(row.Values), len(p.Metrics))
		}
		for m, v := range row.Values {
			if sums[m] += v; sums[m] < v {
				return errOverflow
			}
		}
		for _, share := range slices.Backward(r.shares) {
			row.Values = slices.Delete(row.Values, share, share+1)
		}
	}
	for _, share := range slices.Backward(r.shares) {
		p.Metrics = slices.Delete(p.Metrics, share, share+1)
	}
	if len(p.Metrics) == 0 {
		return errors.New("it has no metric that can be added up")
	}
	return nil
}
