package perfevent

import (
	"context"
	"errors"
	"os/exec"
	"testing"

	"github.com/google/go-cmp/cmp"
	"golang.org/x/sys/unix"
)

// decodedAgain decodes bytes and copies the records, as a spool does.
func decodedAgain(t *testing.T, events []EventAttr, captured []byte) []Record {
	t.Helper()
	d, err := NewDecoder(events)
	if err != nil {
		t.Fatal(err)
	}
	var again batch
	for rec, err := range d.Records(captured) {
		if err != nil {
			t.Fatal(err)
		}
		again.add(rec)
	}
	return again.records
}

// What a session hands on is what its bytes say later, without the session.
func TestLiveCapturedBytesDecodeToWhatTheSessionHandedOn(t *testing.T) {
	command, err := StartCommand(exec.Command("sh", "-c", "i=0; while [ $i -lt 30000 ]; do i=$((i+1)); done; ls /; exec true"))
	if err != nil {
		t.Fatal(err)
	}
	samplings := []Sampling{
		{Event: CPUClock(), Frequency: 999, Callchain: CallchainMode{User: true}, ExcludeKernel: true},
		{Event: Software(SoftwarePageFaults), Period: 1, Addr: true, UserRegs: 0b111, UserStack: 256, ExcludeKernel: true},
	}
	session, err := Open(Started(command), samplings, Options{})
	if err != nil {
		command.Kill()
		t.Fatal(err)
	}
	defer session.Close()
	if err := session.Enable(); err != nil {
		t.Fatal(err)
	}
	var captured []byte
	var handed batch
	reader := Reader{Raw: func(b []byte) { captured = append(captured, b...) }}
	if err := reader.Read(context.Background(), session, func(rec Record) error {
		handed.add(rec)
		return nil
	}); err != nil {
		t.Fatal(err)
	}
	kinds := make(map[RecordType]int)
	for _, rec := range handed.records {
		kinds[rec.Common().Type]++
	}
	for _, kind := range []RecordType{unix.PERF_RECORD_SAMPLE, unix.PERF_RECORD_COMM, unix.PERF_RECORD_MMAP2,
		unix.PERF_RECORD_FORK, unix.PERF_RECORD_EXIT} {
		if kinds[kind] == 0 {
			t.Errorf("no record of type %d among %v", kind, kinds)
		}
	}
	if diff := cmp.Diff(handed.records, decodedAgain(t, session.Events(), captured)); diff != "" {
		t.Errorf("the session handed on (-) what the bytes do not say (+):\n%s", diff)
	}
}

func TestDecoderKnowsSamplesByTheirEvents(t *testing.T) {
	clock := Sampling{Event: CPUClock(), Frequency: 99}
	chains := Sampling{Event: Tracepoint(99, "a:b"), Period: 5, Callchain: CallchainMode{User: true}}
	events := []EventAttr{
		{Attr: sampleAttr(&clock, false, 0, 0), IDs: []uint64{1}},
		{Attr: sampleAttr(&chains, false, 0, 0), IDs: []uint64{testSampleID}},
		{Attr: sideBandAttr(&Options{}, false, 0, 0), IDs: []uint64{testSideBandID}},
	}
	captured := append(callchainSample(50, 3), comm(51, "sh")...)
	records := decodedAgain(t, events, captured)
	if len(records) != 2 {
		t.Fatalf("%d records", len(records))
	}
	if s, ok := records[0].(*Sample); !ok || s.Sampling != 1 || s.Time != 50 || s.Period != 5 || len(s.Callchain) != 3 {
		t.Errorf("the first is %+v", records[0])
	}
	if c, ok := records[1].(*Comm); !ok || string(c.Name) != "sh" || c.Time != 51 {
		t.Errorf("the second is %+v", records[1])
	}
}

func TestDecoderRefusesLayoutsThatItDoesNotKnow(t *testing.T) {
	clock := Sampling{Event: CPUClock(), Frequency: 99}
	tests := []struct {
		name string
		edit func(*unix.PerfEventAttr)
	}{
		{"no id", func(a *unix.PerfEventAttr) { a.Sample_type &^= unix.PERF_SAMPLE_IDENTIFIER }},
		{"branches", func(a *unix.PerfEventAttr) { a.Sample_type |= unix.PERF_SAMPLE_BRANCH_STACK }},
		{"another id", func(a *unix.PerfEventAttr) { a.Sample_type |= unix.PERF_SAMPLE_ID }},
		{"no trailers", func(a *unix.PerfEventAttr) { a.Bits &^= unix.PerfBitSampleIDAll }},
	}
	for _, tt := range tests {
		attr := sampleAttr(&clock, false, 0, 0)
		tt.edit(&attr)
		if _, err := NewDecoder([]EventAttr{{Attr: attr}}); !errors.Is(err, ErrUnknownLayout) {
			t.Errorf("%s: %v", tt.name, err)
		}
		// The side-band makes no samples; its records have trailers.
		attr = sideBandAttr(&Options{}, false, 0, 0)
		tt.edit(&attr)
		if _, err := NewDecoder([]EventAttr{{Attr: attr}}); errors.Is(err, ErrUnknownLayout) == (tt.name == "branches") {
			t.Errorf("%s of the side-band: %v", tt.name, err)
		}
	}
}

func TestRecordsOfHostileBytesEndInAnError(t *testing.T) {
	d, err := NewDecoder(nil)
	if err != nil {
		t.Fatal(err)
	}
	tests := []struct {
		name    string
		b       []byte
		records int
		errs    int
	}{
		{"nothing", nil, 0, 0},
		{"half a header", []byte{1, 2, 3}, 0, 1},
		{"a size of 0", make([]byte, 64), 0, 1},
		{"longer than the bytes", comm(1, "sh")[:40], 0, 1},
		{"an unknown event's sample, then a name", append(smallSample(1), comm(2, "sh")...), 1, 1},
		{"an unknown type, then a name", append(trailed(99, 0, 1, nil), comm(2, "sh")...), 1, 1},
	}
	for _, tt := range tests {
		records, errs := 0, 0
		for rec, err := range d.Records(tt.b) {
			if err != nil {
				errs++
			} else if rec != nil {
				records++
			}
		}
		if records != tt.records || errs != tt.errs {
			t.Errorf("%s: %d records, %d errors", tt.name, records, errs)
		}
	}
}
