package read

import (
	"bufio"
	"compress/gzip"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"math"
	"path"
	"slices"
	"time"

	pprof "github.com/google/pprof/profile"

	"github.com/ringtap/ringtap/internal/profile"
)

const (
	// maxPprof is the largest pprof profile, in bytes without compression.
	maxPprof = 256 << 20
	// maxInflation is how many times larger than its compressed file a pprof profile may be, beyond
	// the first MiB. Real ones are 2 to 15 times larger.
	maxInflation = 50
	// leastMessage is the average size of a profile's messages, in bytes, below which it is refused.
	// A sample with a stack and a value has more than 8. An empty one has 2, and 130 in memory.
	leastMessage = 6
)

// startsPprof reports whether a file starts like an uncompressed pprof profile: with fields of
// profile.proto in any order. They have bytes that no text starts with.
func startsPprof(start []byte) bool {
	isText := !slices.ContainsFunc(start, func(c byte) bool { return c < '\t' || '\r' < c && c < ' ' })
	if isText {
		return false
	}
	for rest := start; len(rest) > 0; {
		key, value, size, err := protobufField(rest)
		if err != nil && len(rest) < len(start) && len(rest) < 2*binary.MaxVarintLen64 {
			break // the start ends in the middle of a number
		}
		if field := key >> 3; err != nil || field < 1 || field > 15 {
			return false
		}
		switch key & 7 {
		case 0:
		case 2:
			size += value
		default:
			return false
		}
		if size >= uint64(len(rest)) {
			break
		}
		rest = rest[size:]
	}
	return true
}

// protobufField returns the key of a message's first field, the number after it, and the size of
// both in bytes (protobuf.dev/programming-guides/encoding). The number is the value of a varint and
// the length of a text or message.
func protobufField(data []byte) (key, value, size uint64, err error) {
	key, n := binary.Uvarint(data)
	if n <= 0 {
		return 0, 0, 0, errProtobuf
	}
	if wire := key & 7; wire != 0 && wire != 2 {
		return key, 0, uint64(n), nil
	}
	value, m := binary.Uvarint(data[n:])
	if m <= 0 || value > math.MaxInt64 && key&7 == 2 {
		return 0, 0, 0, errProtobuf
	}
	return key, value, uint64(n + m), nil
}

func readCompressed(name string, in *bufio.Reader) (*profile.Profile, error) {
	counted := &counter{r: in}
	z, err := gzip.NewReader(counted)
	if err != nil {
		return nil, err
	}
	data := bufio.NewReader(&inflation{z, counted, 0})
	start, err := data.Peek(40)
	if err != nil && err != io.EOF {
		return nil, err
	}
	if startsPerfData(start) {
		return nil, errors.New("it is perf.data compressed with gzip: decompress it first")
	}
	if !startsPprof(start) {
		return nil, fmt.Errorf("it is compressed with gzip, but is not a pprof profile: decompress it first; its content: %w", unknown(start))
	}
	return readPprof(name, data)
}

// counter counts the bytes that were read.
type counter struct {
	r io.Reader
	n int64
}

func (c *counter) Read(b []byte) (int, error) {
	n, err := c.r.Read(b)
	c.n += int64(n)
	return n, err
}

// inflation is a decompressed file that fails when it becomes too large for the compressed one.
type inflation struct {
	r    io.Reader
	from *counter
	n    int64
}

func (i *inflation) Read(b []byte) (int, error) {
	n, err := i.r.Read(b)
	i.n += int64(n)
	if i.n > 1<<20+maxInflation*i.from.n {
		return n, fmt.Errorf("%d compressed bytes have become %d: no real profile is so compressible", i.from.n, i.n)
	}
	return n, err
}

func readPprof(name string, in io.Reader) (*profile.Profile, error) {
	data, err := io.ReadAll(io.LimitReader(in, maxPprof+1))
	switch {
	case err != nil:
		return nil, err
	case len(data) > maxPprof:
		return nil, fmt.Errorf("the pprof profile is larger than %d MiB", maxPprof>>20)
	}
	if err := checkMessages(data); err != nil {
		return nil, fmt.Errorf("pprof profile: %w", err)
	}
	parsed, err := pprof.ParseUncompressed(data)
	if err != nil {
		return nil, fmt.Errorf("pprof profile: %w", err)
	}
	if err := parsed.CheckValid(); err != nil {
		return nil, fmt.Errorf("pprof profile: %w", err)
	}
	r := pprofReader{in: parsed, b: newBuilder("pprof"), frames: make(map[*pprof.Location]int), name: path.Base(name)}
	return r.read()
}

// checkMessages returns an error for data that is not a protobuf message, or that has so many small
// messages that they need many times its size in memory.
func checkMessages(data []byte) error {
	messages := 0
	for rest := data; len(rest) > 0; {
		key, value, size, err := protobufField(rest)
		if err != nil {
			return err
		}
		switch key & 7 {
		case 0:
		case 1:
			size += 8
		case 2:
			size += value
			messages++
		case 5:
			size += 4
		default:
			return errProtobuf
		}
		if size > uint64(len(rest)) {
			return errProtobuf
		}
		rest = rest[size:]
	}
	if messages > 1000 && len(data)/messages < leastMessage {
		return fmt.Errorf("%d messages in %d bytes: most of them are empty", messages, len(data))
	}
	return nil
}

var errProtobuf = errors.New("malformed or cut short")

// pprofReader makes a profile from a pprof profile.
type pprofReader struct {
	in     *pprof.Profile
	b      *builder
	frames map[*pprof.Location]int
	name   string // of processes without a name
	types  []int  // indexes of the sample types, the default one first
}

func (r *pprofReader) read() (*profile.Profile, error) {
	p := r.b.p
	if r.in.TimeNanos != 0 {
		p.Start = time.Unix(0, r.in.TimeNanos).UTC()
	}
	p.Duration = time.Duration(max(r.in.DurationNanos, 0))
	p.Notes = r.in.Comments
	if len(r.in.SampleType) == 0 {
		return nil, errors.New("the pprof profile has no sample types")
	}
	r.chooseTypes()
	for _, i := range r.types {
		t := r.in.SampleType[i]
		unit, scale := baseUnit(t.Unit)
		p.Metrics = append(p.Metrics, profile.Metric{
			Name: t.Type, Type: t.Type, Unit: unit, Scale: scale,
			Running: true, // a sample counts for its leaf, as pprof itself shows it
		})
	}
	if t := r.in.PeriodType; t != nil {
		p.Event = t.Type
		if unit, scale := baseUnit(t.Unit); unit == "nanoseconds" && r.in.Period > 0 && r.in.Period <= math.MaxInt64/int64(scale) {
			p.Period = time.Duration(r.in.Period * int64(scale))
		}
	}
	if len(r.in.Mapping) > 0 && r.in.Mapping[0].File != "" && r.in.Mapping[0].File[0] == '/' {
		r.name = path.Base(r.in.Mapping[0].File) // pprof takes the first mapping for the program
	}
	for i, s := range r.in.Sample {
		if err := r.sample(s); err != nil {
			return nil, fmt.Errorf("sample %d of the pprof profile: %w", i, err)
		}
	}
	return r.b.finish()
}

// chooseTypes puts the type first that pprof shows by default: the one that the profile names, or
// else the last one.
func (r *pprofReader) chooseTypes() {
	first := len(r.in.SampleType) - 1
	for i, t := range r.in.SampleType {
		if t.Type == r.in.DefaultSampleType {
			first = i
		}
	}
	r.types = []int{first}
	for i := range r.in.SampleType {
		if i != first {
			r.types = append(r.types, i)
		}
	}
}

// baseUnit returns the unit of a profile.Metric, and how many of them one of pprof's units is
// (github.com/google/pprof/internal/measurement).
func baseUnit(unit string) (base string, scale uint64) {
	switch unit {
	case "nanoseconds", "ns":
		return "nanoseconds", 1
	case "microseconds", "us":
		return "nanoseconds", 1e3
	case "milliseconds", "ms":
		return "nanoseconds", 1e6
	case "seconds", "s":
		return "nanoseconds", 1e9
	case "bytes":
		return "bytes", 1
	case "kilobytes", "kb":
		return "bytes", 1 << 10
	case "megabytes", "mb":
		return "bytes", 1 << 20
	case "count", "":
		return "counts", 1
	}
	return unit, 1
}

func (r *pprofReader) sample(s *pprof.Sample) error {
	var frames []int
	for _, l := range slices.Backward(s.Location) {
		frames = append(frames, r.frame(l))
	}
	row := r.b.row(r.b.process(r.process(s)), frames)
	for m, i := range r.types {
		if s.Value[i] < 0 {
			return errors.New("a value is negative: it is the difference of two profiles")
		}
		if err := r.b.count(row, m, uint64(s.Value[i])); err != nil {
			return err
		}
	}
	return nil
}

// process returns the process that a sample's labels name, as ringtap writes them, or else the
// program.
func (r *pprofReader) process(s *pprof.Sample) profile.Process {
	var q profile.Process
	if comm := s.Label["comm"]; len(comm) > 0 {
		q.Comm = comm[0]
	} else if len(s.NumLabel["pid"]) == 0 {
		q.Comm = r.name
	}
	if cgroup := s.Label["cgroup"]; len(cgroup) > 0 {
		q.Cgroup = cgroup[0]
	}
	if pid := s.NumLabel["pid"]; len(pid) > 0 {
		q.PID, q.NSPID, q.TGID = int(pid[0]), int(pid[0]), int(pid[0])
	}
	return q
}

// frame returns the frame of a location: the containing function, with what is inlined there as its
// lines. Addresses become offsets in the mapping's file, except those of the kernel.
func (r *pprofReader) frame(l *pprof.Location) int {
	if id, seen := r.frames[l]; seen {
		return id
	}
	f := profile.Frame{Address: l.Address}
	if m := l.Mapping; m != nil {
		f.Object = r.b.object(m.File)
		o := &r.b.p.Objects[f.Object]
		if o.BuildID == "" {
			o.BuildID = m.BuildID
		}
		o.HasFunctions, o.HasLines, o.HasInlines = m.HasFunctions, m.HasLineNumbers, m.HasInlineFrames
		if !o.Kernel && l.Address >= m.Start {
			f.Address = l.Address - m.Start + m.Offset
		}
	} else {
		f.Object = r.b.object("")
	}
	hasSource := false
	for i := range l.Line {
		line, function := &l.Line[i], l.Line[i].Function
		if function == nil {
			continue
		}
		hasSource = hasSource || function.Filename != "" || line.Line != 0
		f.Lines = append(f.Lines, profile.Line{Function: function.Name, File: function.Filename, Line: int(line.Line), Start: int(function.StartLine)})
		f.Name, f.RawName = function.Name, function.SystemName // the last one contains the others
	}
	if len(f.Lines) == 1 && !hasSource {
		f.Lines = nil
	}
	id := cut
	if f.Name != truncatedName || l.Mapping != nil || l.Address != 0 {
		id = len(r.b.p.Frames)
		r.b.p.Frames = append(r.b.p.Frames, f)
	}
	r.frames[l] = id
	return id
}
