package perfevent

import (
	"errors"
	"fmt"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	"golang.org/x/sys/unix"
)

// sampleFields are all fields of a sample in the order of perf_output_sample
// (kernel/events/core.c), each with a value of its own.
var sampleFields = []struct {
	bit  uint64
	body body
	set  func(s *Sample) // what the decoder is to make of it; nil: nothing
}{
	{unix.PERF_SAMPLE_IDENTIFIER, body(nil).u64(testSampleID), func(s *Sample) { s.ID = testSampleID }},
	{unix.PERF_SAMPLE_IP, body(nil).u64(0x401000), func(s *Sample) { s.IP = 0x401000 }},
	{unix.PERF_SAMPLE_TID, body(nil).u32(10).u32(11), func(s *Sample) { s.PID, s.TID = 10, 11 }},
	{unix.PERF_SAMPLE_TIME, body(nil).u64(99), func(s *Sample) { s.Time = 99 }},
	{unix.PERF_SAMPLE_ADDR, body(nil).u64(0x7000), func(s *Sample) { s.Addr = 0x7000 }},
	{unix.PERF_SAMPLE_ID, body(nil).u64(testSampleID), func(s *Sample) { s.ID = testSampleID }},
	{unix.PERF_SAMPLE_STREAM_ID, body(nil).u64(900), nil},
	{unix.PERF_SAMPLE_CPU, body(nil).u32(3).u32(0), func(s *Sample) { s.CPU = 3 }},
	{unix.PERF_SAMPLE_PERIOD, body(nil).u64(77), func(s *Sample) { s.Period = 77 }},
	// Two counts with id and lost, and both times.
	{unix.PERF_SAMPLE_READ, body(nil).u64(2).u64(5000).u64(4000).u64(1).u64(2).u64(3).u64(4).u64(5).u64(6), nil},
	{unix.PERF_SAMPLE_CALLCHAIN, body(nil).u64(2).u64(0x401000).u64(0x402000), func(s *Sample) { s.Callchain = []uint64{0x401000, 0x402000} }},
	{unix.PERF_SAMPLE_RAW, body(nil).u32(4).add([]byte("rawd")), func(s *Sample) { s.Raw = []byte("rawd") }},
	// Two entries, the index before and the counters behind them.
	{unix.PERF_SAMPLE_BRANCH_STACK, body(nil).u64(2).u64(9).u64(1).u64(2).u64(3).u64(4).u64(5).u64(6).u64(7).u64(8), nil},
	{unix.PERF_SAMPLE_REGS_USER, body(nil).u64(2).u64(21).u64(22), func(s *Sample) {
		s.Regs = Registers{ABI: 2, Mask: 0b101, Values: []uint64{21, 22}}
	}},
	{unix.PERF_SAMPLE_STACK_USER, body(nil).u64(16).u64(31).u64(32).u64(8), func(s *Sample) { s.Stack = body(nil).u64(31) }},
	{unix.PERF_SAMPLE_WEIGHT, body(nil).u64(41), nil},
	{unix.PERF_SAMPLE_WEIGHT_STRUCT, body(nil).u64(42), nil},
	{unix.PERF_SAMPLE_DATA_SRC, body(nil).u64(43), nil},
	{unix.PERF_SAMPLE_TRANSACTION, body(nil).u64(44), nil},
	{unix.PERF_SAMPLE_REGS_INTR, body(nil).u64(2).u64(51), func(s *Sample) { s.IntrRegs = Registers{ABI: 2, Mask: 0b10, Values: []uint64{51}} }},
	{unix.PERF_SAMPLE_PHYS_ADDR, body(nil).u64(61), nil},
	{unix.PERF_SAMPLE_CGROUP, body(nil).u64(62), func(s *Sample) { s.Cgroup = 62 }},
	{unix.PERF_SAMPLE_DATA_PAGE_SIZE, body(nil).u64(4096), nil},
	{unix.PERF_SAMPLE_CODE_PAGE_SIZE, body(nil).u64(4096), nil},
	{unix.PERF_SAMPLE_AUX, body(nil).u64(8).u64(71), nil},
}

// layoutAttr is an event with that sample type, whose samples are those of sampleFields.
func layoutAttr(sampleType uint64) unix.PerfEventAttr {
	return unix.PerfEventAttr{Sample: 5, Sample_type: sampleType, Bits: unix.PerfBitSampleIDAll,
		Read_format: knownReadFormat, Branch_sample_type: unix.PERF_SAMPLE_BRANCH_HW_INDEX | unix.PERF_SAMPLE_BRANCH_COUNTERS,
		Sample_regs_user: 0b101, Sample_regs_intr: 0b10}
}

// sampleOf returns a sample with the fields of a sample type, and what it means.
func sampleOf(sampleType uint64) ([]byte, *Sample) {
	want := &Sample{Header: Header{Type: unix.PERF_RECORD_SAMPLE, Misc: unix.PERF_RECORD_MISC_USER}, Period: 5}
	var fields body
	for _, f := range sampleFields {
		if sampleType&f.bit == 0 {
			continue
		}
		fields = fields.add(f.body)
		if f.set != nil {
			f.set(want)
		}
	}
	return record(unix.PERF_RECORD_SAMPLE, unix.PERF_RECORD_MISC_USER, fields), want
}

func TestSamplesOfEveryLayoutAreRead(t *testing.T) {
	const all = unix.PERF_SAMPLE_MAX - 1
	types := map[string]uint64{
		"nothing": 0,
		// The kernel allows one kind of weight.
		"everything":     all &^ unix.PERF_SAMPLE_WEIGHT,
		"perf record":    unix.PERF_SAMPLE_IP | unix.PERF_SAMPLE_TID | unix.PERF_SAMPLE_TIME | unix.PERF_SAMPLE_PERIOD,
		"perf record -d": unix.PERF_SAMPLE_IP | unix.PERF_SAMPLE_TID | unix.PERF_SAMPLE_TIME | unix.PERF_SAMPLE_ADDR | unix.PERF_SAMPLE_PERIOD | unix.PERF_SAMPLE_DATA_SRC,
	}
	for _, f := range sampleFields {
		types[fmt.Sprintf("bit %#x alone", f.bit)] = f.bit
		if f.bit != unix.PERF_SAMPLE_WEIGHT {
			types[fmt.Sprintf("all but bit %#x", f.bit)] = all &^ unix.PERF_SAMPLE_WEIGHT &^ f.bit
		}
	}
	for name, sampleType := range types {
		t.Run(name, func(t *testing.T) {
			d, err := NewDecoder([]EventAttr{{Attr: layoutAttr(sampleType), IDs: []uint64{testSampleID}}})
			if err != nil {
				t.Fatal(err)
			}
			raw, want := sampleOf(sampleType)
			got, err := d.Decode(raw)
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(want, got, cmpopts.EquateEmpty()); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
			// No part of a sample is taken for all of it, but where what is missing is skipped anyway.
			for n := range len(raw) {
				if rec, err := d.Decode(raw[:n]); (rec == nil) == (err == nil) {
					t.Fatalf("of %d bytes: %v, %v", n, rec, err)
				}
			}
		})
	}
}

func TestTrailersOfEveryLayoutAreRead(t *testing.T) {
	const parts = unix.PERF_SAMPLE_TID | unix.PERF_SAMPLE_TIME | unix.PERF_SAMPLE_ID | unix.PERF_SAMPLE_STREAM_ID |
		unix.PERF_SAMPLE_CPU | unix.PERF_SAMPLE_IDENTIFIER
	for sampleType := range uint64(parts + 1) {
		if sampleType&^parts != 0 {
			continue
		}
		want := &Comm{Header: Header{Type: unix.PERF_RECORD_COMM}, PID: 1, TID: 2, Name: []byte("sh")}
		fields := body(nil).u32(1).u32(2).text("sh")
		for _, f := range []struct {
			bit  uint64
			body body
			set  func(h *Header)
		}{
			{unix.PERF_SAMPLE_TID, body(nil).u32(10).u32(11), func(h *Header) { h.PID, h.TID = 10, 11 }},
			{unix.PERF_SAMPLE_TIME, body(nil).u64(99), func(h *Header) { h.Time = 99 }},
			{unix.PERF_SAMPLE_ID, body(nil).u64(testSampleID), func(h *Header) { h.ID = testSampleID }},
			{unix.PERF_SAMPLE_STREAM_ID, body(nil).u64(900), nil},
			{unix.PERF_SAMPLE_CPU, body(nil).u32(3).u32(0), func(h *Header) { h.CPU = 3 }},
			{unix.PERF_SAMPLE_IDENTIFIER, body(nil).u64(testSampleID), func(h *Header) { h.ID = testSampleID }},
		} {
			if sampleType&f.bit == 0 {
				continue
			}
			fields = fields.add(f.body)
			if f.set != nil {
				f.set(&want.Header)
			}
		}
		attr := layoutAttr(sampleType)
		d, err := NewDecoder([]EventAttr{{Attr: attr, IDs: []uint64{testSampleID}}})
		if err != nil {
			t.Fatal(err)
		}
		got, err := d.Decode(record(unix.PERF_RECORD_COMM, 0, fields))
		if diff := cmp.Diff(Record(want), got); err != nil || diff != "" {
			t.Errorf("sample type %#x: %v (-want +got):\n%s", sampleType, err, diff)
		}
	}
}

func TestRecordsWithoutTrailersAreRead(t *testing.T) {
	attr := layoutAttr(unix.PERF_SAMPLE_IP | unix.PERF_SAMPLE_TID | unix.PERF_SAMPLE_TIME)
	attr.Bits = 0
	d, err := NewDecoder([]EventAttr{{Attr: attr}})
	if err != nil {
		t.Fatal(err)
	}
	got, err := d.Decode(record(unix.PERF_RECORD_COMM, 0, body(nil).u32(1).u32(2).text("sh")))
	want := &Comm{Header: Header{Type: unix.PERF_RECORD_COMM}, PID: 1, TID: 2, Name: []byte("sh")}
	if diff := cmp.Diff(Record(want), got); err != nil || diff != "" {
		t.Errorf("%v (-want +got):\n%s", err, diff)
	}
}

// perf's dummy event may have another sample type than the counters beside it.
func TestEachEventsTrailerIsItsOwn(t *testing.T) {
	const id = unix.PERF_SAMPLE_IDENTIFIER
	counter, dummy := layoutAttr(id|unix.PERF_SAMPLE_IP|unix.PERF_SAMPLE_TID|unix.PERF_SAMPLE_TIME),
		layoutAttr(id|unix.PERF_SAMPLE_TIME|unix.PERF_SAMPLE_CPU)
	dummy.Type, dummy.Config = unix.PERF_TYPE_SOFTWARE, unix.PERF_COUNT_SW_DUMMY
	for _, events := range [][]EventAttr{
		{{Attr: counter, IDs: []uint64{1}}, {Attr: dummy, IDs: []uint64{2}}},
		{{Attr: dummy, IDs: []uint64{2}}, {Attr: counter, IDs: []uint64{1}}},
	} {
		d, err := NewDecoder(events)
		if err != nil {
			t.Fatal(err)
		}
		for _, tt := range []struct {
			trailer body
			want    Header
		}{
			{body(nil).u32(10).u32(11).u64(99).u64(1), Header{Type: unix.PERF_RECORD_LOST_SAMPLES, PID: 10, TID: 11, Time: 99, ID: 1}},
			{body(nil).u64(99).u32(3).u32(0).u64(2), Header{Type: unix.PERF_RECORD_LOST_SAMPLES, Time: 99, CPU: 3, ID: 2}},
		} {
			got, err := d.Decode(record(unix.PERF_RECORD_LOST_SAMPLES, 0, body(nil).u64(7).add(tt.trailer)))
			if diff := cmp.Diff(Record(&LostSamples{Header: tt.want, Lost: 7}), got); err != nil || diff != "" {
				t.Errorf("%v (-want +got):\n%s", err, diff)
			}
		}
	}
}

// perf makes records of what it knows before it records: their ids are 0.
func TestASampleWithoutAnIDIsOfTheFirstEvent(t *testing.T) {
	attr := layoutAttr(unix.PERF_SAMPLE_ID)
	tests := []struct {
		name   string
		events int
		id     uint64
		want   error
	}{
		{"an id of 0", 2, 0, nil},
		{"an unknown id of one of two", 2, 9, errID},
		{"an unknown id of the only event", 1, 9, nil},
	}
	for _, tt := range tests {
		d, err := NewDecoder([]EventAttr{{Attr: attr, IDs: []uint64{1}}, {Attr: attr, IDs: []uint64{2}}}[:tt.events])
		if err != nil {
			t.Fatal(err)
		}
		rec, err := d.Decode(record(unix.PERF_RECORD_SAMPLE, 0, body(nil).u64(tt.id)))
		if !errors.Is(err, tt.want) || err == nil && rec.(*Sample).Sampling != 0 {
			t.Errorf("%s: %v, %v", tt.name, rec, err)
		}
	}
}

func TestASampleWithoutAPeriodStandsForWhatTheEventSays(t *testing.T) {
	for _, tt := range []struct {
		bits   uint64
		sample uint64
		want   uint64
	}{
		{0, 5, 5},
		{0, 0, 1},
		{unix.PerfBitFreq, 99, 1},
	} {
		d, err := NewDecoder([]EventAttr{{Attr: unix.PerfEventAttr{Sample: tt.sample, Bits: tt.bits}}})
		if err != nil {
			t.Fatal(err)
		}
		rec, err := d.Decode(record(unix.PERF_RECORD_SAMPLE, 0, nil))
		if err != nil || rec.(*Sample).Period != tt.want {
			t.Errorf("%+v: %v, %v", tt, rec, err)
		}
	}
}

func TestDecoderRefusesLayoutsThatItDoesNotKnow(t *testing.T) {
	event := func(edit func(*unix.PerfEventAttr)) EventAttr {
		attr := layoutAttr(unix.PERF_SAMPLE_ID | unix.PERF_SAMPLE_READ | unix.PERF_SAMPLE_BRANCH_STACK)
		edit(&attr)
		return EventAttr{Attr: attr}
	}
	known := event(func(*unix.PerfEventAttr) {})
	tests := []struct {
		name   string
		events []EventAttr
	}{
		{"a later kernel's field", []EventAttr{event(func(a *unix.PerfEventAttr) { a.Sample_type |= unix.PERF_SAMPLE_MAX })}},
		{"a later kernel's counts", []EventAttr{event(func(a *unix.PerfEventAttr) { a.Read_format |= unix.PERF_FORMAT_LOST << 1 })}},
		{"a later kernel's branches", []EventAttr{event(func(a *unix.PerfEventAttr) { a.Branch_sample_type |= unix.PERF_SAMPLE_BRANCH_MAX })}},
		{"ids at different places", []EventAttr{known, event(func(a *unix.PerfEventAttr) { a.Sample_type |= unix.PERF_SAMPLE_IP })}},
		{"trailers for some", []EventAttr{known, event(func(a *unix.PerfEventAttr) { a.Bits = 0 })}},
	}
	for _, tt := range tests {
		if _, err := NewDecoder(tt.events); !errors.Is(err, ErrUnknownLayout) {
			t.Errorf("%s: %v", tt.name, err)
		}
	}
	if _, err := NewDecoder([]EventAttr{known, known}); err != nil {
		t.Error(err)
	}
}
