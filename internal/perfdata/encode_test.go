package perfdata

import (
	"bytes"
	"encoding/binary"
	"math/bits"
	"reflect"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	"golang.org/x/sys/unix"

	"github.com/ringtap/ringtap/internal/testkit/fuzzing"
	"github.com/ringtap/ringtap/perfevent"
)

// eventsWith returns two events with a sample type. Registers have one and two values.
func eventsWith(sampleType uint64) []Event {
	attr := unix.PerfEventAttr{Sample_type: sampleType, Bits: unix.PerfBitSampleIDAll, Sample_regs_user: 0b101, Sample_regs_intr: 0b10}
	return []Event{{EventAttr: perfevent.EventAttr{Attr: attr, IDs: []uint64{1}}}, {EventAttr: perfevent.EventAttr{Attr: attr, IDs: []uint64{2, 3}}}}
}

// roundTrip returns what a decoder makes of r encoded.
func roundTrip(t *testing.T, events []Event, r perfevent.Record) perfevent.Record {
	t.Helper()
	e, err := NewEncoder(events)
	if err != nil {
		t.Fatal(err)
	}
	before := []byte("before")
	b, err := e.Append(before, r)
	if err != nil {
		t.Fatal(err)
	}
	raw := b[len(before):]
	if !bytes.HasPrefix(b, before) || len(raw)%8 != 0 || int(binary.LittleEndian.Uint16(raw[6:])) != len(raw) {
		t.Errorf("it is not a record: %x", raw)
	}
	d, err := perfevent.NewDecoder(attrsOf(events))
	if err != nil {
		t.Fatal(err)
	}
	got, err := d.Decode(raw)
	if err != nil {
		t.Fatal(err)
	}
	return got
}

const recorded = unix.PERF_SAMPLE_IDENTIFIER | unix.PERF_SAMPLE_IP | unix.PERF_SAMPLE_TID | unix.PERF_SAMPLE_TIME | unix.PERF_SAMPLE_CPU

func TestRecordsAreDecodedAsTheyWereEncoded(t *testing.T) {
	h := func(kind perfevent.RecordType, misc uint16) perfevent.Header {
		return perfevent.Header{Type: kind, Misc: misc, PID: 10, TID: 11, Time: 99, CPU: 3, ID: 3}
	}
	for name, r := range map[string]perfevent.Record{
		"the kernel": KernelMmap("[kernel.kallsyms]_text", 0xffffffff81000000, 0x1000000, 0xffffffff81000000),
		"a module":   KernelMmap("[ext4]", 0xffffffffc0000000, 0x1000, 0),
		"mmap": &perfevent.Mmap{Header: h(unix.PERF_RECORD_MMAP, unix.PERF_RECORD_MISC_USER), PID: 1, TID: 2, Addr: 3, Len: 4, Pgoff: 5,
			Filename: []byte("/bin/true")},
		"mmap2": &perfevent.Mmap{Header: h(unix.PERF_RECORD_MMAP2, unix.PERF_RECORD_MISC_USER), PID: 1, TID: 2, Addr: 3, Len: 4, Pgoff: 5,
			Major: 6, Minor: 7, Inode: 8, InodeGeneration: 9, Prot: 5, Flags: 2, Filename: []byte("/a/bc/d")},
		"mmap2 with a build id": &perfevent.Mmap{Header: h(unix.PERF_RECORD_MMAP2, unix.PERF_RECORD_MISC_USER|unix.PERF_RECORD_MISC_MMAP_BUILD_ID),
			PID: 1, TID: 2, Addr: 3, Len: 4, Pgoff: 5, BuildID: []byte("0123456789abcdefghij"), Prot: 5, Flags: 2, Filename: []byte("/lib/x")},
		"mmap2 with a short build id and no name": &perfevent.Mmap{Header: h(unix.PERF_RECORD_MMAP2, unix.PERF_RECORD_MISC_MMAP_BUILD_ID),
			BuildID: []byte{1}, Filename: []byte{}},
		"comm":            &perfevent.Comm{Header: h(unix.PERF_RECORD_COMM, 0), PID: 1, TID: 2, Name: []byte("sh")},
		"comm of an exec": &perfevent.Comm{Header: h(unix.PERF_RECORD_COMM, unix.PERF_RECORD_MISC_COMM_EXEC), PID: 1, TID: 2, Exec: true, Name: []byte("eight888")},
		"fork":            &perfevent.Fork{Header: h(unix.PERF_RECORD_FORK, 0), PID: 1, TID: 2, PPID: 3, PTID: 4},
		"lost":            &perfevent.Lost{Header: h(unix.PERF_RECORD_LOST, 0), EventID: 3, Lost: 7},
		"lost samples":    &perfevent.LostSamples{Header: h(unix.PERF_RECORD_LOST_SAMPLES, 0), Lost: 7},
		"exit":            &perfevent.Exit{Header: h(unix.PERF_RECORD_EXIT, 0), PID: 1, TID: 2, PPID: 3, PTID: 4},
	} {
		t.Run(name, func(t *testing.T) {
			if diff := cmp.Diff(r, roundTrip(t, eventsWith(recorded|unix.PERF_SAMPLE_ID|unix.PERF_SAMPLE_STREAM_ID), r)); diff != "" {
				t.Errorf("(-encoded +decoded):\n%s", diff)
			}
		})
	}
}

// fullSample has a value in each field that the decoder fills.
func fullSample() *perfevent.Sample {
	return &perfevent.Sample{Header: perfevent.Header{Type: unix.PERF_RECORD_SAMPLE, Misc: unix.PERF_RECORD_MISC_USER, PID: 10, TID: 11, Time: 99, CPU: 3, ID: 2},
		Sampling: 1, IP: 0x401000, Addr: 0x7000, Period: 77, Cgroup: 62, Callchain: []uint64{^uint64(511), 0x401000, 0x402000}, Raw: []byte("12 bytes raw"),
		Regs: perfevent.Registers{ABI: 2, Mask: 0b101, Values: []uint64{21, 22}}, IntrRegs: perfevent.Registers{ABI: 2, Mask: 0b10, Values: []uint64{51}},
		Stack: []byte("eleven byte")}
}

// sampleFields are the fields of fullSample, each with what takes it away.
var sampleFields = []struct {
	bit   uint64
	clear func(s *perfevent.Sample)
}{
	{unix.PERF_SAMPLE_IP, func(s *perfevent.Sample) { s.IP = 0 }},
	{unix.PERF_SAMPLE_TID, func(s *perfevent.Sample) { s.PID, s.TID = 0, 0 }},
	{unix.PERF_SAMPLE_TIME, func(s *perfevent.Sample) { s.Time = 0 }},
	{unix.PERF_SAMPLE_ADDR, func(s *perfevent.Sample) { s.Addr = 0 }},
	{unix.PERF_SAMPLE_ID, func(*perfevent.Sample) {}}, // the identifier is the same
	{unix.PERF_SAMPLE_CPU, func(s *perfevent.Sample) { s.CPU = 0 }},
	{unix.PERF_SAMPLE_PERIOD, func(s *perfevent.Sample) { s.Period = 1 }},
	{unix.PERF_SAMPLE_CALLCHAIN, func(s *perfevent.Sample) { s.Callchain = nil }},
	{unix.PERF_SAMPLE_RAW, func(s *perfevent.Sample) { s.Raw = nil }},
	{unix.PERF_SAMPLE_REGS_USER, func(s *perfevent.Sample) { s.Regs = perfevent.Registers{} }},
	{unix.PERF_SAMPLE_STACK_USER, func(s *perfevent.Sample) { s.Stack = nil }},
	{unix.PERF_SAMPLE_REGS_INTR, func(s *perfevent.Sample) { s.IntrRegs = perfevent.Registers{} }},
	{unix.PERF_SAMPLE_CGROUP, func(s *perfevent.Sample) { s.Cgroup = 0 }},
}

func TestSamplesOfEachTypeAreDecodedAsTheyWereEncoded(t *testing.T) {
	for set := range 1 << len(sampleFields) {
		if n := bits.OnesCount(uint(set)); n > 2 && n < len(sampleFields)-2 {
			continue
		}
		want, sampleType := fullSample(), uint64(unix.PERF_SAMPLE_IDENTIFIER)
		for i, f := range sampleFields {
			if set>>i&1 != 0 {
				sampleType |= f.bit
			} else {
				f.clear(want)
			}
		}
		if diff := cmp.Diff(perfevent.Record(want), roundTrip(t, eventsWith(sampleType), fullSample())); diff != "" {
			t.Errorf("sample type %#x (-encoded +decoded):\n%s", sampleType, diff)
		}
	}
}

func TestASamplesEmptyPartsAreDecodedAsTheyWereEncoded(t *testing.T) {
	s := &perfevent.Sample{Header: perfevent.Header{Type: unix.PERF_RECORD_SAMPLE, ID: 1}, Period: 1, Raw: make([]byte, 4)}
	if diff := cmp.Diff(perfevent.Record(s), roundTrip(t, eventsWith(keptFields), s), cmpopts.EquateEmpty()); diff != "" {
		t.Errorf("(-encoded +decoded):\n%s", diff)
	}
}

func TestWhatCannotBeEncodedIsAnError(t *testing.T) {
	long := make([]byte, 1<<16)
	other := fullSample()
	other.Sampling = 2
	registers := fullSample()
	registers.Regs.Values = registers.Regs.Values[:1]
	for name, tt := range map[string]struct {
		sampleType uint64
		record     perfevent.Record
	}{
		"a long name":          {recorded, &perfevent.Comm{Name: bytes.Repeat([]byte("x"), 1<<16)}},
		"a long stack":         {keptFields, &perfevent.Sample{Stack: long}},
		"a long callchain":     {keptFields, &perfevent.Sample{Callchain: make([]uint64, 1<<13)}},
		"a long build id":      {recorded, &perfevent.Mmap{BuildID: long[:21]}},
		"another type":         {recorded, &perfevent.Throttle{}},
		"an event there isn't": {keptFields, other},
		"missing registers":    {keptFields, registers},
		"counts":               {keptFields | unix.PERF_SAMPLE_READ, fullSample()},
		"branches":             {keptFields | unix.PERF_SAMPLE_BRANCH_STACK, fullSample()},
		"weights":              {keptFields | unix.PERF_SAMPLE_WEIGHT_STRUCT, fullSample()},
		"streams":              {keptFields | unix.PERF_SAMPLE_STREAM_ID, fullSample()},
	} {
		e, err := NewEncoder(eventsWith(tt.sampleType))
		if err != nil {
			t.Fatal(err)
		}
		if b, err := e.Append([]byte("before"), tt.record); err == nil || string(b) != "before" {
			t.Errorf("%s: %v, %q", name, err, b)
		}
	}
}

// Whatever the decoder makes of a record's bytes, it makes of the encoder's too.
func FuzzEncode(f *testing.F) {
	fuzzing.Bound(f)
	for _, r := range []perfevent.Record{fullSample(), &perfevent.Comm{Name: []byte("sh")}, &perfevent.Fork{PID: 1}, KernelMmap("[ext4]", 1, 2, 3),
		&perfevent.Mmap{BuildID: []byte{1, 2}, Filename: []byte("/bin/x")}} {
		for _, sampleType := range []uint64{keptFields, recorded} {
			e, err := NewEncoder(eventsWith(sampleType))
			if err != nil {
				f.Fatal(err)
			}
			if b, err := e.Append(nil, r); err == nil {
				f.Add(sampleType, b)
			}
		}
	}
	f.Fuzz(func(t *testing.T, sampleType uint64, b []byte) {
		events := eventsWith(sampleType)
		d, err := perfevent.NewDecoder(attrsOf(events))
		if err != nil {
			return
		}
		want, err := d.Decode(b)
		if err != nil {
			return
		}
		if s, ok := want.(*perfevent.Sample); ok && sampleType&unix.PERF_SAMPLE_RAW != 0 { // the encoder pads with zeros
			s.Raw = append(bytes.Clone(s.Raw), make([]byte, -(4+len(s.Raw))&7)...)
		}
		e, err := NewEncoder(events)
		if err != nil {
			t.Fatal(err)
		}
		encoded, err := e.Append(nil, want)
		if err != nil {
			return
		}
		again, err := perfevent.NewDecoder(attrsOf(events))
		if err != nil {
			t.Fatal(err)
		}
		got, err := again.Decode(encoded)
		if err != nil {
			t.Fatal(err)
		}
		if reflect.DeepEqual(want, got) {
			return // cmp is slow
		}
		if diff := cmp.Diff(want, got, cmpopts.EquateEmpty()); diff != "" {
			t.Errorf("(-encoded +decoded):\n%s", diff)
		}
	})
}
