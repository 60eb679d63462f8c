package perfevent

import (
	"errors"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	"golang.org/x/sys/unix"
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
		{
			"text poke", unix.PERF_RECORD_TEXT_POKE, 0, body(nil).u64(0x10).u16(3).u16(2).add([]byte{1, 2, 3, 4, 5, 0, 0, 0, 0, 0, 0, 0}),
			&TextPoke{Header: head(20, 0), Addr: 0x10, Old: []byte{1, 2, 3}, New: []byte{4, 5}},
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
		{"a text poke with too many bytes", 0, trailed(unix.PERF_RECORD_TEXT_POKE, 0, 1, body(nil).u64(0).u16(3).u16(2).u32(0)), errShort},
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

func TestEventTableFindsIDsFarApart(t *testing.T) {
	for _, ids := range [][]uint64{{7, 8, 9}, {7, 1 << 40, 1<<64 - 1}} {
		infos := []eventInfo{{sampling: 0}, {sampling: 1}, {sampling: sideBand, origin: 4}}
		table := newEventTable(ids, infos)
		for i, id := range ids {
			if got := table.find(id); got == nil || *got != infos[i] {
				t.Errorf("find(%d) of %v = %v, want %v", id, ids, got, infos[i])
			}
		}
		for _, id := range []uint64{0, 6, 10, 1 << 41} {
			if got := table.find(id); got != nil {
				t.Errorf("find(%d) of %v = %v, want nothing", id, ids, got)
			}
		}
	}
	empty := newEventTable(nil, nil)
	if got := empty.find(0); got != nil {
		t.Errorf("an empty table has %v", got)
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
