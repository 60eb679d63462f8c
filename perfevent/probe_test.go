package perfevent

import (
	"errors"
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
