package perfevent

import (
	_ "embed"
	"encoding/binary"
	"errors"
	"fmt"
	"math/bits"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	"golang.org/x/sys/unix"

	"github.com/ringtap/ringtap/internal/testkit/fuzzing"
)

func TestDecodeReadsEveryTypeOfRecord(t *testing.T) {
	head := func(kind RecordType, misc uint16) Header {
		return Header{Type: kind, Misc: misc, PID: 10, TID: 11, Time: 99, CPU: 3, ID: testSideBandID}
	}
	buildID := []byte("0123456789abcdefghij")
	tests := []struct {
		name string
		kind uint32
		misc uint16
		body body
		want Record
	}{
		{
			"mmap", unix.PERF_RECORD_MMAP, 0,
			body(nil).u32(1).u32(2).u64(0x1000).u64(0x2000).u64(0x3000).text("/bin/true"),
			&Mmap{Header: head(1, 0), PID: 1, TID: 2, Addr: 0x1000, Len: 0x2000, Pgoff: 0x3000, Filename: []byte("/bin/true")},
		},
		{
			// The name with its NUL fills whole words: no padding follows.
			"mmap2", unix.PERF_RECORD_MMAP2, 0,
			body(nil).u32(1).u32(2).u64(0x1000).u64(0x2000).u64(0x3000).
				u32(8).u32(1).u64(77).u64(5).u32(5).u32(2).text("/a/bc/d"),
			&Mmap{Header: head(10, 0), PID: 1, TID: 2, Addr: 0x1000, Len: 0x2000, Pgoff: 0x3000,
				Major: 8, Minor: 1, Inode: 77, InodeGeneration: 5, Prot: 5, Flags: 2, Filename: []byte("/a/bc/d")},
		},
		{
			"mmap2 with a build id", unix.PERF_RECORD_MMAP2, unix.PERF_RECORD_MISC_MMAP_BUILD_ID,
			body(nil).u32(1).u32(2).u64(0x1000).u64(0x2000).u64(0x3000).
				add([]byte{20, 0, 0, 0}).add(buildID).u32(5).u32(2).text("/lib/x"),
			&Mmap{Header: head(10, unix.PERF_RECORD_MISC_MMAP_BUILD_ID), PID: 1, TID: 2, Addr: 0x1000, Len: 0x2000, Pgoff: 0x3000,
				BuildID: buildID, Prot: 5, Flags: 2, Filename: []byte("/lib/x")},
		},
		{
			"mmap2 with a build id that says it is longer than its room", unix.PERF_RECORD_MMAP2, unix.PERF_RECORD_MISC_MMAP_BUILD_ID,
			body(nil).u32(1).u32(2).u64(0).u64(0).u64(0).add([]byte{200, 0, 0, 0}).add(buildID).u32(0).u32(0).text(""),
			&Mmap{Header: head(10, unix.PERF_RECORD_MISC_MMAP_BUILD_ID), PID: 1, TID: 2, BuildID: buildID, Filename: []byte{}},
		},
		{
			"comm", unix.PERF_RECORD_COMM, 0, body(nil).u32(1).u32(2).text("sh"),
			&Comm{Header: head(3, 0), PID: 1, TID: 2, Name: []byte("sh")},
		},
		{
			"comm of an exec", unix.PERF_RECORD_COMM, unix.PERF_RECORD_MISC_COMM_EXEC, body(nil).u32(1).u32(1).text("seven77"),
			&Comm{Header: head(3, unix.PERF_RECORD_MISC_COMM_EXEC), PID: 1, TID: 1, Exec: true, Name: []byte("seven77")},
		},
		{
			"fork", unix.PERF_RECORD_FORK, 0, body(nil).u32(1).u32(2).u32(3).u32(4).u64(98),
			&Fork{Header: head(7, 0), PID: 1, PPID: 2, TID: 3, PTID: 4},
		},
		{
			"exit", unix.PERF_RECORD_EXIT, 0, body(nil).u32(1).u32(2).u32(3).u32(4).u64(98),
			&Exit{Header: head(4, 0), PID: 1, PPID: 2, TID: 3, PTID: 4},
		},
		{
			"lost", unix.PERF_RECORD_LOST, 0, body(nil).u64(70).u64(1234),
			&Lost{Header: head(2, 0), EventID: 70, Lost: 1234},
		},
		{
			"lost samples", unix.PERF_RECORD_LOST_SAMPLES, 0, body(nil).u64(12),
			&LostSamples{Header: head(13, 0), Lost: 12},
		},
		{
			"throttle", unix.PERF_RECORD_THROTTLE, 0, body(nil).u64(98).u64(70).u64(72),
			&Throttle{Header: head(5, 0), EventID: 70},
		},
		{
			"unthrottle", unix.PERF_RECORD_UNTHROTTLE, 0, body(nil).u64(98).u64(70).u64(72),
			&Throttle{Header: head(6, 0), Unthrottle: true, EventID: 70},
		},
		{
			"switch", unix.PERF_RECORD_SWITCH, unix.PERF_RECORD_MISC_SWITCH_OUT | unix.PERF_RECORD_MISC_SWITCH_OUT_PREEMPT, nil,
			&Switch{Header: head(14, unix.PERF_RECORD_MISC_SWITCH_OUT|unix.PERF_RECORD_MISC_SWITCH_OUT_PREEMPT), Out: true, Preempt: true},
		},
		{
			"switch, CPU wide", unix.PERF_RECORD_SWITCH_CPU_WIDE, 0, body(nil).u32(5).u32(6),
			&Switch{Header: head(15, 0), CPUWide: true, OtherPID: 5, OtherTID: 6},
		},
		{
			"namespaces", unix.PERF_RECORD_NAMESPACES, 0, body(nil).u32(1).u32(2).u64(2).u64(4).u64(5).u64(6).u64(7),
			&Namespaces{Header: head(16, 0), PID: 1, TID: 2, Links: []Namespace{{4, 5}, {6, 7}}},
		},
		{
			"cgroup", unix.PERF_RECORD_CGROUP, 0, body(nil).u64(42).text("/system.slice"),
			&Cgroup{Header: head(19, 0), CgroupID: 42, Path: []byte("/system.slice")},
		},
		{
			"ksymbol", unix.PERF_RECORD_KSYMBOL, 0, body(nil).u64(0xffffffffc0000000).u32(64).u16(1).u16(1).text("bpf_prog_1"),
			&Ksymbol{Header: head(17, 0), Addr: 0xffffffffc0000000, Len: 64, Kind: 1, Unregister: true, Name: []byte("bpf_prog_1")},
		},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			raw := trailed(tt.kind, tt.misc, 99, tt.body)
			got, err := testDecoder(0).Decode(raw)
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(tt.want, got); diff != "" {
				t.Errorf("decoded record (-want +got):\n%s", diff)
			}
			checkKept(t, tt.want, got, raw)
		})
	}
}

func TestDecodeReadsEveryFieldOfASample(t *testing.T) {
	const all = unix.PERF_SAMPLE_ADDR | unix.PERF_SAMPLE_PERIOD | unix.PERF_SAMPLE_CALLCHAIN | unix.PERF_SAMPLE_RAW |
		unix.PERF_SAMPLE_REGS_USER | unix.PERF_SAMPLE_STACK_USER | unix.PERF_SAMPLE_CGROUP
	head := Header{Type: unix.PERF_RECORD_SAMPLE, PID: 10, TID: 11, Time: 99, CPU: 3, ID: testSampleID}
	start := body(nil).u64(testSampleID).u64(0x401000).u32(10).u32(11).u64(99)
	tests := []struct {
		name       string
		sampleType uint64
		fields     body
		want       Sample
	}{
		{
			"nothing asked for: the sampling's own period", 0, sampleHead(99),
			Sample{Header: head, IP: 0x401000, Period: 5},
		},
		{
			"everything", all,
			start.u64(0xadd7).u32(3).u32(0).u64(8).
				u64(2).u64(0x11).u64(0x12).
				u32(12).add([]byte("raw data 123")).
				u64(2).u64(0xa).u64(0xb).
				u64(16).add([]byte("stack bytes 4567")).u64(10).
				u64(900),
			Sample{Header: head, IP: 0x401000, Addr: 0xadd7, Period: 8, Cgroup: 900,
				Callchain: []uint64{0x11, 0x12}, Raw: []byte("raw data 123"),
				Regs: Registers{ABI: 2, Mask: 0b101, Values: []uint64{0xa, 0xb}}, Stack: []byte("stack byte")},
		},
		{
			"a stack that ends with the address space, amid a word", unix.PERF_SAMPLE_STACK_USER | unix.PERF_SAMPLE_CGROUP,
			start.u32(3).u32(0).u64(12).add([]byte("stack bytes.")).u64(11).u64(900),
			Sample{Header: head, IP: 0x401000, Period: 5, Cgroup: 900, Stack: []byte("stack bytes")},
		},
		{
			"interrupt registers behind all but the cgroup", all | unix.PERF_SAMPLE_REGS_INTR,
			start.u64(0).u32(3).u32(0).u64(8).u64(0).u32(4).add([]byte("raw.")).u64(2).u64(0xa).u64(0xb).u64(0).
				u64(2).u64(0xc).u64(0xd).u64(0xe).u64(900),
			Sample{Header: head, IP: 0x401000, Period: 8, Cgroup: 900, Callchain: []uint64{}, Raw: []byte("raw."),
				Regs:     Registers{ABI: 2, Mask: 0b101, Values: []uint64{0xa, 0xb}},
				IntrRegs: Registers{ABI: 2, Mask: 0b1110, Values: []uint64{0xc, 0xd, 0xe}}},
		},
		{
			// A kernel thread: no register words, no room for a stack.
			"no user registers and no stack", all,
			start.u64(0).u32(3).u32(0).u64(8).u64(0).u32(4).add([]byte("raw.")).u64(0).u64(0).u64(900),
			Sample{Header: head, IP: 0x401000, Period: 8, Cgroup: 900, Callchain: []uint64{}, Raw: []byte("raw.")},
		},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			raw := record(unix.PERF_RECORD_SAMPLE, 0, tt.fields)
			got, err := testDecoder(tt.sampleType).Decode(raw)
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(Record(&tt.want), got); diff != "" {
				t.Errorf("decoded sample (-want +got):\n%s", diff)
			}
			checkKept(t, &tt.want, got, raw)
		})
	}
}

func TestDecodeRefusesRecordsThatClaimMoreThanTheyHold(t *testing.T) {
	sample := func(b body) []byte { return record(unix.PERF_RECORD_SAMPLE, 0, b) }
	const huge = 1 << 61 // overflows when multiplied by 8
	tests := []struct {
		name       string
		sampleType uint64
		bytes      []byte
		want       error
	}{
		{"nothing", 0, nil, errShort},
		{"a header only", 0, record(unix.PERF_RECORD_COMM, 0, nil), errShort},
		{"a sample cut before its CPU", 0, sample(sampleHead(1)[:32]), errShort},
		{"a sample cut before its period", unix.PERF_SAMPLE_PERIOD, sample(sampleHead(1)), errShort},
		{"an address where the CPU should be", unix.PERF_SAMPLE_ADDR, sample(sampleHead(1)), errShort},
		{"a callchain without length", unix.PERF_SAMPLE_CALLCHAIN, sample(sampleHead(1)), errShort},
		{"a callchain longer by one", unix.PERF_SAMPLE_CALLCHAIN, sample(sampleHead(1).u64(2).u64(0)), errShort},
		{"a huge callchain", unix.PERF_SAMPLE_CALLCHAIN, sample(sampleHead(1).u64(huge).u64(0)), errShort},
		{"raw data longer by one", unix.PERF_SAMPLE_RAW, sample(sampleHead(1).u32(5).u32(0)), errShort},
		{"huge raw data", unix.PERF_SAMPLE_RAW, sample(sampleHead(1).u32(1<<32 - 1).u32(0)), errShort},
		{"registers cut short", unix.PERF_SAMPLE_REGS_USER, sample(sampleHead(1).u64(2).u64(0)), errShort},
		{"interrupt registers cut short", unix.PERF_SAMPLE_REGS_INTR, sample(sampleHead(1).u64(2).u64(0).u64(0)), errShort},
		{"no interrupt registers", unix.PERF_SAMPLE_REGS_INTR, sample(sampleHead(1)), errShort},
		{"a stack without its filled size", unix.PERF_SAMPLE_STACK_USER, sample(sampleHead(1).u64(8).u64(0)), errShort},
		{"a huge stack", unix.PERF_SAMPLE_STACK_USER, sample(sampleHead(1).u64(huge * 4).u64(0)), errShort},
		{"a stack that is filled beyond its room", unix.PERF_SAMPLE_STACK_USER, sample(sampleHead(1).u64(8).u64(0).u64(9)), errShort},
		{"a stack that ends amid the record's last word", unix.PERF_SAMPLE_STACK_USER, sample(sampleHead(1).u64(9).u64(0).u64(0)), errShort},
		{"no cgroup", unix.PERF_SAMPLE_CGROUP, sample(sampleHead(1)), errShort},
		{"a sample of another session", 0, sample(body(nil).u64(5).u64(0).u64(0).u64(0).u64(0)), errID},
		{"a sample of a side-band event", 0, sample(body(nil).u64(testSideBandID).u64(0).u64(0).u64(0).u64(0)), errID},
		{"a comm without a thread", 0, trailed(unix.PERF_RECORD_COMM, 0, 1, nil), errShort},
		{"a fork without its time", 0, trailed(unix.PERF_RECORD_FORK, 0, 1, body(nil).u64(0).u64(0)), errShort},
		{"an mmap2 of an mmap's length", 0, trailed(unix.PERF_RECORD_MMAP2, 0, 1, make(body, 32)), errShort},
		{"more namespaces than there are", 0, trailed(unix.PERF_RECORD_NAMESPACES, 0, 1, body(nil).u64(0).u64(2).u64(0).u64(0)), errShort},
		{"a huge number of namespaces", 0, trailed(unix.PERF_RECORD_NAMESPACES, 0, 1, body(nil).u64(0).u64(huge*2).u64(0).u64(0)), errShort},
		{"a type from the future", 0, trailed(99, 0, 1, nil), ErrUnknownRecord},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			rec, err := testDecoder(tt.sampleType).Decode(tt.bytes)
			if !errors.Is(err, tt.want) || rec != nil {
				t.Errorf("decode gives %v, %v; want the error %v", rec, err, tt.want)
			}
		})
	}
}

func TestDecodeForgetsTheRecordBefore(t *testing.T) {
	d := testDecoder(unix.PERF_SAMPLE_CALLCHAIN)
	if _, err := d.Decode(callchainSample(1, 20)); err != nil {
		t.Fatal(err)
	}
	rec, err := d.Decode(callchainSample(2, 0))
	if err != nil {
		t.Fatal(err)
	}
	if chain := rec.(*Sample).Callchain; len(chain) != 0 {
		t.Errorf("a sample without frames has %d of the sample before", len(chain))
	}
}

func TestDecodeOfGoodRecordsDoesNotAllocate(t *testing.T) {
	d := testDecoder(unix.PERF_SAMPLE_CALLCHAIN)
	records := [][]byte{
		callchainSample(1, 20),
		trailed(unix.PERF_RECORD_COMM, 0, 1, body(nil).u32(1).u32(1).text("comm")),
		trailed(unix.PERF_RECORD_NAMESPACES, 0, 1, body(nil).u64(0).u64(1).u64(0).u64(0)),
	}
	n := testing.AllocsPerRun(100, func() {
		for _, b := range records {
			if _, err := d.Decode(b); err != nil {
				t.Fatal(err)
			}
		}
	})
	if n != 0 {
		t.Errorf("%v allocations for %d records", n, len(records))
	}
}

// checkKept checks that a copy of a record in a batch is its own: neither the
// ring's next records nor the batch's change it.
func checkKept(t *testing.T, want, got Record, raw []byte) {
	t.Helper()
	var b batch
	for range 100 {
		b.add(got)
	}
	for i := range raw {
		raw[i] = 0xee
	}
	for _, kept := range b.records {
		if diff := cmp.Diff(want, kept, cmpopts.EquateEmpty()); diff != "" {
			t.Fatalf("record kept in a batch (-want +got):\n%s", diff)
		}
	}
}

// cacheCounters is what a real machine's counters of the last-level cache left in
// perf's ring, and what perf reads in it: a line for each sample of cache-references
// and cache-misses in perf.data.systemwide.0-3.4, a recording of
// google/perf_data_converter's tests. First come the record's words in hexadecimal;
// after a tab, as perf script prints them, event, pid, tid, cpu, time in
// nanoseconds, period and ip.
//
//go:embed testdata/cache-counters.txt
var cacheCounters string

// The counters ran in frequency mode, so that each sample has a period of its own.
func TestSamplesOfRealCacheCountersAreReadAsPerfReadsThem(t *testing.T) {
	attr := unix.PerfEventAttr{Sample: 4000, Bits: unix.PerfBitFreq | unix.PerfBitSampleIDAll,
		Sample_type: unix.PERF_SAMPLE_IP | unix.PERF_SAMPLE_TID | unix.PERF_SAMPLE_TIME | unix.PERF_SAMPLE_ID |
			unix.PERF_SAMPLE_CPU | unix.PERF_SAMPLE_PERIOD}
	names := []string{"cache-references", "cache-misses"}
	events := []EventAttr{{Attr: attr}, {Attr: attr}}
	var records []byte
	var want []string
	for line := range strings.Lines(cacheCounters) {
		words, perfs, _ := strings.Cut(strings.TrimSuffix(line, "\n"), "\t")
		name, _, _ := strings.Cut(perfs, " ")
		w := recordedSample(t, words)
		event := &events[slices.Index(names, name)]
		event.IDs = append(event.IDs, w[4])
		for _, word := range w {
			records = binary.LittleEndian.AppendUint64(records, word)
		}
		want = append(want, perfs)
	}
	var got []string
	for _, record := range decodedAgain(t, events, records) {
		s := record.(*Sample)
		got = append(got, fmt.Sprintf("%s %d %d %d %d %d %x", names[s.Sampling], s.PID, s.TID, s.CPU, s.Time, s.Period, s.IP))
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("as perf and as the decoder reads them (-perf +decoder):\n%s", diff)
	}
}

// recordedSample returns the words of a sample that perf recorded.
func recordedSample(t *testing.T, text string) (w [7]uint64) {
	t.Helper()
	for i, field := range strings.Fields(text) {
		if _, err := fmt.Sscanf(field, "%x", &w[i]); err != nil {
			t.Fatalf("%q: %v", text, err)
		}
	}
	return w
}

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

// contextKernel is PERF_CONTEXT_KERNEL.
const contextKernel = ^uint64(127)

// functionSample is a sample of ftrace:function in testDecoder's layout 5.
func functionSample(ip uint64, chain ...uint64) []byte {
	b := sampleHead(1).u64(uint64(len(chain)))
	for _, frame := range chain {
		b = b.u64(frame)
	}
	b = b.u32(28).u64(1).u64(ip).u64(ip + 0x1000).u32(0)
	return record(unix.PERF_RECORD_SAMPLE, 0, b)
}

func TestAFunctionsSampleIsOfTheFunction(t *testing.T) {
	const ip, ftrace, caller = 0xffffffff81000004, 0xffffffff81f00000, 0xffffffff81500000
	for _, tt := range []struct {
		name        string
		chain, want []uint64
	}{
		{"ftrace's own frames are left out", []uint64{contextKernel, ftrace, ftrace + 8, ip + 5, caller}, []uint64{contextKernel, ip, caller}},
		{"a call of 4 bytes", []uint64{contextKernel, ftrace, ip + 4, caller}, []uint64{contextKernel, ip, caller}},
		{"none of ftrace's", []uint64{contextKernel, ip + 5, caller}, []uint64{contextKernel, ip, caller}},
		{"a function that is not there", []uint64{contextKernel, ftrace, caller}, []uint64{contextKernel, ftrace, caller}},
		{"no callchain", nil, nil},
	} {
		bytes := functionSample(ip, tt.chain...)
		d := testDecoder(unix.PERF_SAMPLE_CALLCHAIN | unix.PERF_SAMPLE_RAW)
		d.layouts[0].isFunction = true
		for range 2 { // a record may be looked at twice
			record, err := d.Decode(bytes)
			if err != nil {
				t.Fatal(err)
			}
			s := record.(*Sample)
			if s.IP != ip || !slices.Equal(s.Callchain, tt.want) {
				t.Errorf("%s: at %#x, %#x, want %#x", tt.name, s.IP, s.Callchain, tt.want)
			}
		}
		if !slices.Equal(bytes, functionSample(ip, tt.chain...)) {
			t.Errorf("%s: the record was written to, which rings of recent samples can't be", tt.name)
		}
	}
}

// fuzzSampleTypes are the layouts that the fuzzers choose from.
var fuzzSampleTypes = []uint64{
	0,
	unix.PERF_SAMPLE_CALLCHAIN,
	unix.PERF_SAMPLE_ADDR | unix.PERF_SAMPLE_PERIOD | unix.PERF_SAMPLE_RAW,
	unix.PERF_SAMPLE_REGS_USER | unix.PERF_SAMPLE_STACK_USER,
	unix.PERF_SAMPLE_ADDR | unix.PERF_SAMPLE_PERIOD | unix.PERF_SAMPLE_CALLCHAIN | unix.PERF_SAMPLE_RAW |
		unix.PERF_SAMPLE_REGS_USER | unix.PERF_SAMPLE_STACK_USER | unix.PERF_SAMPLE_CGROUP,
	unix.PERF_SAMPLE_CALLCHAIN | unix.PERF_SAMPLE_RAW | unix.PERF_SAMPLE_REGS_USER | unix.PERF_SAMPLE_STACK_USER |
		unix.PERF_SAMPLE_REGS_INTR | unix.PERF_SAMPLE_CGROUP,
}

func FuzzDecode(f *testing.F) {
	fuzzing.Bound(f)
	f.Add(uint8(1), callchainSample(1, 3))
	f.Add(uint8(0), comm(1, "name"))
	f.Add(uint8(0), trailed(unix.PERF_RECORD_MMAP2, 0, 1, make(body, 64).text("/bin/sh")))
	f.Add(uint8(0), trailed(unix.PERF_RECORD_MMAP2, unix.PERF_RECORD_MISC_MMAP_BUILD_ID, 1, make(body, 64).text("")))
	f.Add(uint8(0), trailed(unix.PERF_RECORD_NAMESPACES, 0, 1, body(nil).u64(0).u64(1).u64(0).u64(0)))
	f.Add(uint8(0), trailed(unix.PERF_RECORD_TEXT_POKE, 0, 1, body(nil).u64(0).u16(2).u16(2).u32(0)))
	f.Add(uint8(4), record(unix.PERF_RECORD_SAMPLE, 0, body(nil).u64(testSampleID).u64(1).u64(2).u64(3).u64(4).u64(5).u64(6).
		u64(1).u64(9).u32(4).u32(0).u64(2).u64(0).u64(0).u64(8).u64(0).u64(8).u64(1)))
	f.Add(uint8(0x40|5), functionSample(0xffffffff81000000, contextKernel, 0xffffffff81f00000, 0xffffffff81000005))
	f.Fuzz(func(t *testing.T, kind uint8, b []byte) {
		d := testDecoder(fuzzSampleTypes[int(kind)%len(fuzzSampleTypes)])
		d.fallback = int32(kind>>7) - 1
		d.layouts[0].isFunction = kind&0x40 != 0
		rec, err := d.Decode(b)
		if (rec == nil) == (err == nil) {
			t.Fatalf("decode gives %v, %v", rec, err)
		}
		if err != nil {
			return
		}
		// What a record claims to hold must lie within the record.
		held := 0
		switch rec := rec.(type) {
		case *Sample:
			held = 8*len(rec.Callchain) + len(rec.Raw) + 8*len(rec.Regs.Values) + 8*len(rec.IntrRegs.Values) + len(rec.Stack)
			if n := len(rec.Regs.Values); n != 0 && n != bits.OnesCount64(d.layouts[0].userRegs) {
				t.Errorf("%d register values", n)
			}
			if n := len(rec.IntrRegs.Values); n != 0 && n != bits.OnesCount64(d.layouts[0].intrRegs) {
				t.Errorf("%d interrupt register values", n)
			}
		case *Mmap:
			held = len(rec.Filename) + len(rec.BuildID)
		case *Comm:
			held = len(rec.Name)
		case *Cgroup:
			held = len(rec.Path)
		case *Ksymbol:
			held = len(rec.Name)
		case *Namespaces:
			held = 16 * len(rec.Links)
		}
		if held > len(b)-minOtherSize {
			t.Errorf("a record of %d bytes holds %d", len(b), held)
		}
	})
}

// Records of any layout stay within their bytes, and no count in them makes the decoder read on or panic.
func FuzzDecodeOfAnyLayout(f *testing.F) {
	fuzzing.Bound(f)
	f.Add(uint64(unix.PERF_SAMPLE_MAX-1), uint64(knownReadFormat), uint64(knownBranches), callchainSample(1, 3))
	f.Add(uint64(unix.PERF_SAMPLE_ID|unix.PERF_SAMPLE_READ), uint64(unix.PERF_FORMAT_GROUP), uint64(0),
		record(unix.PERF_RECORD_SAMPLE, 0, body(nil).u64(testSampleID).u64(1<<61)))
	f.Add(uint64(unix.PERF_SAMPLE_ID|unix.PERF_SAMPLE_BRANCH_STACK), uint64(0), uint64(unix.PERF_SAMPLE_BRANCH_COUNTERS),
		record(unix.PERF_RECORD_SAMPLE, 0, body(nil).u64(testSampleID).u64(1<<62)))
	f.Add(uint64(unix.PERF_SAMPLE_TID|unix.PERF_SAMPLE_TIME), uint64(0), uint64(0), comm(1, "name"))
	f.Fuzz(func(t *testing.T, sampleType, readFormat, branches uint64, b []byte) {
		attr := unix.PerfEventAttr{Sample_type: sampleType, Read_format: readFormat, Branch_sample_type: branches,
			Sample_regs_user: 0b101, Sample_regs_intr: 0b11}
		attr.Bits = unix.PerfBitSampleIDAll * (sampleType >> 63)
		attr.Sample_type &^= 1 << 63
		d, err := NewDecoder([]EventAttr{{Attr: attr, IDs: []uint64{testSampleID}}, {Attr: attr, IDs: []uint64{testSideBandID}}})
		if err != nil {
			return
		}
		rec, err := d.Decode(b)
		if (rec == nil) == (err == nil) {
			t.Fatalf("decode gives %v, %v", rec, err)
		}
		if s, ok := rec.(*Sample); ok {
			held := 8*len(s.Callchain) + len(s.Raw) + 8*len(s.Regs.Values) + 8*len(s.IntrRegs.Values) + len(s.Stack)
			if held > len(b) {
				t.Errorf("a sample of %d bytes holds %d", len(b), held)
			}
		}
	})
}

func BenchmarkDecodeSampleWith20Frames(b *testing.B) {
	d := testDecoder(unix.PERF_SAMPLE_CALLCHAIN | unix.PERF_SAMPLE_PERIOD)
	fields := sampleHead(1).u64(1).u64(20)
	for i := range 20 {
		fields = fields.u64(0x401000 + uint64(i))
	}
	rec := bytesOf(words(record(unix.PERF_RECORD_SAMPLE, unix.PERF_RECORD_MISC_USER, fields)))
	b.ReportAllocs()
	for b.Loop() {
		if _, err := d.Decode(rec); err != nil {
			b.Fatal(err)
		}
	}
}

func BenchmarkDecodeMmap2(b *testing.B) {
	d := testDecoder(0)
	rec := trailed(unix.PERF_RECORD_MMAP2, 0, 1, make(body, 64).text("/usr/lib/x86_64-linux-gnu/libc.so.6"))
	b.ReportAllocs()
	for b.Loop() {
		if _, err := d.Decode(rec); err != nil {
			b.Fatal(err)
		}
	}
}
