package perfdata

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"math/bits"

	"golang.org/x/sys/unix"
)

// Info describes a recorded machine and run. Fields that a recording lacks are zero.
type Info struct {
	Hostname    string
	Release     string // the kernel's: uname -r
	PerfVersion string // of perf, or of another recorder
	Arch        string // uname -m
	CPUDesc     string
	CPUs        int // online
	// PossibleCPUs is how many CPUs the machine may get.
	PossibleCPUs int
	TotalMemory  uint64 // KiB
	Command      []string
	// Wall and ClockTime are the same moment on two clocks: in nanoseconds since 1970, and on
	// the clock of the records' times. Both are 0 if the recording does not have them, which
	// takes perf record -k.
	Wall, ClockTime uint64
	ClockResolution uint64 // of the clock of perf record -k, nanoseconds
	Pipe            bool   // the output of perf record -o -
	Directory       bool
	Compressed      bool
}

// BuildID is the build id of a file.
type BuildID struct {
	PID      int32 // -1 for the host
	Kernel   bool  // of the kernel or one of its modules
	ID       []byte
	Filename string
}

// Numbers of features (tools/perf/util/header.h).
const (
	featureTracingData = 1
	featureBuildID     = 2
	featureHostname    = 3
	featureRelease     = 4
	featureVersion     = 5
	featureArch        = 6
	featureCPUs        = 7
	featureCPUDesc     = 8
	featureTotalMemory = 10
	featureCommand     = 11
	featureEventDesc   = 12
	featureSampleTime  = 21
	featureClockID     = 23
	featureDirectory   = 24
	featureCompressed  = 27
	featureClockData   = 29
)

// errFeature is returned if a feature's contents do not fit in it.
var errFeature = errors.New("its contents do not fit in it")

// readFeatures reads a file's features. Each bit of bitmap stands for one section, and the sections
// are listed after the records. It skips features that it cannot read; the error names them.
func (f *File) readFeatures(s *stream, bitmap []byte) error {
	var errs []error
	list := s.end
	for i := range bitmap {
		for set := bitmap[i]; set != 0; set &= set - 1 {
			number := 8*i + bits.TrailingZeros8(set)
			b, err := section{uint64(list), 16}.read(s.r, f.size)
			list += 16
			if err == nil {
				b, err = sectionAt(b).read(s.r, f.size)
			}
			if err == nil {
				err = f.addFeature(number, b)
			}
			if err != nil {
				errs = append(errs, fmt.Errorf("%s: feature %d: %w", s.name, number, err))
			}
		}
	}
	return errors.Join(errs...)
}

// readPreamble reads the attributes and features of a pipe, which has them in records. It looks at
// all records, since perf writes some of them at the end.
func (f *File) readPreamble() error {
	s := &f.streams[0]
	w := newWalker(s)
	var symbols []byte
	for {
		record, err := w.next()
		if err == nil {
			symbols = append(symbols, symbolsOf(record)...)
			err = f.preamble(w, record)
		}
		var malformed *FormatError
		switch {
		case err == nil:
		case err == io.EOF, errors.As(err, &malformed): // Read will return it
			if err := f.addSymbolTables(symbols); err != nil {
				f.note(w, err)
			}
			return nil
		default:
			return err
		}
	}
}

// symbolsOf returns the part of feature 132 that a record has: see updateSymbols.
func symbolsOf(record []byte) []byte {
	r := fields{rest: record[headerSize:]}
	if binary.LittleEndian.Uint32(record) != recordEventUpdate || r.u64() != updateSymbols {
		return nil
	}
	r.u64() // the event's id
	return r.bytes(r.u64())
}

// preamble reads a record that describes the recording. It skips all others.
func (f *File) preamble(w *walker, record []byte) error {
	kind := binary.LittleEndian.Uint32(record)
	body := record[headerSize:]
	n := attached(record)
	switch {
	case kind == recordAttr && len(body) >= 8:
		// The second field of an attribute is its size, or 0 for the first version's 64 bytes.
		size := min(max(int(binary.LittleEndian.Uint32(body[4:])), 64), len(body))
		f.addEvent(body[:size], body[size:])
	case kind == recordEventUpdate && len(body) >= 16:
		const name = 2 // PERF_EVENT_UPDATE__NAME
		if e := f.eventOf(binary.LittleEndian.Uint64(body[8:])); e != nil && binary.LittleEndian.Uint64(body) == name {
			e.Name = cString(body[16:])
		}
	case kind == recordFeature && len(body) >= 8:
		f.note(w, f.addFeature(int(binary.LittleEndian.Uint64(body)), body[8:]))
	case kind == recordTracingData && n > 0:
		f.note(w, f.tracingData(w, record))
	case kind == recordBuildID:
		f.note(w, f.addBuildIDs(record))
	case kind == recordCompressed, kind == recordCompressed2:
		f.Info.Compressed = true
	}
	return w.skip(n)
}

// note sets Problem, unless there is one already.
func (f *File) note(w *walker, err error) {
	if err != nil && f.Problem == nil {
		f.Problem = w.fail(err)
	}
}

// addFeature parses a feature that ringtap uses. It skips all others.
func (f *File) addFeature(number int, b []byte) error {
	r := fields{rest: b}
	switch number {
	case featureTracingData:
		return f.addTracingData(b)
	case featureBuildID:
		return f.addBuildIDs(b)
	case featureSymbols:
		return f.addSymbolTables(b)
	case featureHostname:
		f.Info.Hostname = r.text()
	case featureRelease:
		f.Info.Release = r.text()
	case featureVersion:
		f.Info.PerfVersion = r.text()
	case featureArch:
		f.Info.Arch = r.text()
	case featureCPUDesc:
		f.Info.CPUDesc = r.text()
	case featureCPUs:
		f.Info.PossibleCPUs = int(r.u32())
		f.Info.CPUs = int(r.u32())
	case featureTotalMemory:
		f.Info.TotalMemory = r.u64()
	case featureCommand:
		for n := r.u32(); n > 0 && !r.short; n-- {
			f.Info.Command = append(f.Info.Command, r.text())
		}
	case featureEventDesc:
		f.nameEvents(&r)
	case featureClockID:
		f.Info.ClockResolution = r.u64()
	case featureDirectory:
		f.Info.Directory = true
	case featureCompressed:
		f.Info.Compressed = true
	case featureClockData:
		r.u32() // version
		r.u32() // clock
		f.Info.Wall, f.Info.ClockTime = r.u64(), r.u64()
	}
	if r.short {
		return errFeature
	}
	return nil
}

// nameEvents parses HEADER_EVENT_DESC, which has the events' names in the order of the attributes.
func (f *File) nameEvents(r *fields) {
	events, attrSize := r.u32(), r.u32()
	for i := 0; i < int(events) && !r.short; i++ {
		r.bytes(uint64(attrSize))
		ids := r.u32()
		name := r.text()
		r.bytes(8 * uint64(ids))
		if i < len(f.Events) && !r.short {
			f.Events[i].Name = name
		}
	}
}

// addBuildIDs parses a sequence of struct perf_record_header_build_id.
func (f *File) addBuildIDs(b []byte) error {
	const (
		fixed    = 36 // up to the file name
		modeMask = 7  // PERF_RECORD_MISC_CPUMODE_MASK
	)
	for len(b) > 0 {
		if len(b) < fixed {
			return errFeature
		}
		misc, size := binary.LittleEndian.Uint16(b[4:]), int(binary.LittleEndian.Uint16(b[6:]))
		if size < fixed || size > len(b) {
			return errFeature
		}
		id := b[12 : 12+longestBuildID]
		if misc&buildIDHasSize != 0 {
			id = id[:min(int(b[12+longestBuildID]), longestBuildID)]
		} else {
			id = bytes.TrimRight(id, "\x00")
		}
		f.BuildIDs = append(f.BuildIDs, BuildID{PID: int32(binary.LittleEndian.Uint32(b[8:])), Kernel: misc&modeMask == unix.PERF_RECORD_MISC_KERNEL,
			ID: bytes.Clone(id), Filename: cString(b[fixed:size])})
		b = b[size:]
	}
	return nil
}

// fields reads the fields of a feature in order. Reading past the end sets short and returns zeros.
type fields struct {
	rest  []byte
	short bool
}

func (r *fields) bytes(n uint64) []byte {
	if n > uint64(len(r.rest)) {
		r.rest, r.short = nil, true
		return nil
	}
	b := r.rest[:n]
	r.rest = r.rest[n:]
	return b
}

func (r *fields) u32() uint32 {
	if b := r.bytes(4); b != nil {
		return binary.LittleEndian.Uint32(b)
	}
	return 0
}

func (r *fields) u64() uint64 {
	if b := r.bytes(8); b != nil {
		return binary.LittleEndian.Uint64(b)
	}
	return 0
}

// text reads a string: a 32 bit length, then that many bytes, padded with zeros.
func (r *fields) text() string { return cString(r.bytes(uint64(r.u32()))) }

// cString returns the text before the first zero.
func cString(b []byte) string {
	text, _, _ := bytes.Cut(b, []byte{0})
	return string(text)
}
