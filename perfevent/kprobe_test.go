package perfevent

import (
	"errors"
	"slices"
	"strings"
	"testing"
	"testing/fstest"

	perf "github.com/elastic/go-perf"
	"golang.org/x/sys/unix"
)

func TestAKprobeIsAFunctionOrAnAddress(t *testing.T) {
	tests := []struct {
		function string
		offset   uint64
		isReturn bool
		want     Event
	}{
		{"vfs_read", 0, false, Event{attr: perf.Attr{Type: 8, Label: "kprobe:vfs_read"}, text: "vfs_read"}},
		{"ext4:ext4_sync_fs", 8, false, Event{attr: perf.Attr{Type: 8, Config2: 8, Label: "kprobe:ext4:ext4_sync_fs+0x8"}, text: "ext4:ext4_sync_fs"}},
		{"vfs_read", 0, true, Event{attr: perf.Attr{Type: 8, Config: 1, Label: "kretprobe:vfs_read"}, text: "vfs_read"}},
		{"", 0xffffffff81000000, false, Event{attr: perf.Attr{Type: 8, Config2: 0xffffffff81000000, Label: "kprobe:0xffffffff81000000"}}},
	}
	for _, tt := range tests {
		got, err := kprobe(testDevices(), tt.function, tt.offset, tt.isReturn)
		tt.want.kind = kprobeEvent
		if err != nil || got != tt.want {
			t.Errorf("%s+%d: %+v, %v, want %+v", tt.function, tt.offset, got, err, tt.want)
		}
	}
	if _, err := kprobe(testDevices(), "vfs\x00read", 0, false); err == nil || errors.Is(err, ErrNoEvent) {
		t.Errorf("a name with a zero byte: %v", err)
	}
	if _, err := kprobe(fstest.MapFS{}, "vfs_read", 0, false); !errors.Is(err, ErrNoEvent) {
		t.Errorf("without the PMU: %v", err)
	}
}

func TestWhereAProbeOfTheKernelCantBeIsExplained(t *testing.T) {
	event, err := kprobe(testDevices(), "vfs_read", 1, false)
	if err != nil {
		t.Fatal(err)
	}
	breakpoint := Breakpoint(BreakpointExecute, 0xffffffff81000000, 8)
	tests := []struct {
		event Event
		err   error
		hint  string
	}{
		{event, unix.ENOENT, "no such function"},
		{event, unix.EILSEQ, "no instruction begins there"},
		{event, unix.EINVAL, "blacklist"},
		{event, unix.E2BIG, "so long a name"},
		{event, enotsupp, "cannot probe this instruction"},
		{breakpoint, unix.EINVAL, "CONFIG_KPROBES"},
	}
	for _, tt := range tests {
		s := &Session{}
		err := s.openError("x", &Sampling{Event: tt.event}, tt.err)
		if !errors.Is(err, ErrNotProbeable) || !strings.Contains(err.Error(), tt.hint) {
			t.Errorf("%s, %v: %v", tt.event, tt.err, err)
		}
	}
	s := &Session{}
	if err := s.openError("x", &Sampling{Event: event}, unix.EACCES); !errors.Is(err, ErrPermission) {
		t.Errorf("without the privileges: %v", err)
	}
	if err := s.openError("x", &Sampling{Event: breakpoint}, unix.ENOSPC); errors.Is(err, ErrNotProbeable) {
		t.Errorf("no free breakpoint: %v", err)
	}
}

func TestAFunctionEntryNeedsAFilterAndHasNoUserStacks(t *testing.T) {
	event := FunctionEntry(1)
	for _, tt := range []struct {
		sampling Sampling
		want     string
	}{
		{Sampling{Event: event, Period: 1}, "every function"},
		{Sampling{Event: event, Period: 1, Filter: "ip == f", Callchain: CallchainMode{User: true}}, "no user stacks"},
		{Sampling{Event: event, Period: 1, Filter: "ip == f", UserStack: 8}, "no user stacks"},
		{Sampling{Event: event, Period: 1, Filter: "ip == f", Callchain: CallchainMode{Kernel: true}}, ""},
	} {
		err := tt.sampling.validate()
		if tt.want == "" && err != nil || tt.want != "" && (!errors.Is(err, ErrInvalid) || !strings.Contains(err.Error(), tt.want)) {
			t.Errorf("%+v: %v", tt.sampling, err)
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
