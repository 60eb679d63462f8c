package ftrace

import (
	"errors"
	"io/fs"
	"slices"
	"testing"
)

func TestDefinedEventsAreReadFromTheKernelsList(t *testing.T) {
	got := definedEvents("p:g/a /bin/true:0x0000000000000040 arg1=%di\n" +
		"r:g/b /bin/a:b:0x10\n" +
		"p:g/several /bin/a:0x10\np:g/several /bin/a:0x20\n" +
		"r8:kprobes/c vfs_read\n" +
		"e:no\nnothing\n\np:g/\np:g/a;b /x:0\n:/\np:h/last /bin/true:0x40")
	want := []EventName{{"g", "a"}, {"g", "b"}, {"g", "several"}, {"kprobes", "c"}, {"h", "last"}}
	if !slices.Equal(got, want) {
		t.Errorf("got %v, want %v", got, want)
	}
}

func TestOnlyEventProbesAreTakenFromTheListOfAllDynamicEvents(t *testing.T) {
	got := onlyEventProbes("p:g/a vfs_read\ne:g/b net.net_dev_queue v0=$skbaddr:u64\ns:synthetic/c u64 x\nr:g/e vfs_read\ne:h/d sched.sched_switch\n")
	if want := []EventName{{"g", "b"}, {"h", "d"}}; !slices.Equal(definedEvents(got), want) {
		t.Errorf("%q, want %v", got, want)
	}
}

func TestOnlyNamesThatRingtapGivesHaveAnOwner(t *testing.T) {
	for _, test := range []struct {
		name  string
		pid   int
		start uint64
		ok    bool
	}{
		{"ringtap_17_4711", 17, 4711, true},
		{"ringtap_4194304_18446744073709551615_2", 4194304, 1<<64 - 1, true},
		{"ringtap_17", 0, 0, false},
		{"ringtap_17_", 0, 0, false},
		{"ringtap_0_1", 0, 0, false},
		{"ringtap_-1_1", 0, 0, false},
		{"ringtap_+1_1", 0, 0, false},
		{"ringtap_17_18446744073709551616", 0, 0, false},
		{"ringtap_17_4711_2_3", 0, 0, false},
		{"ringtap_test_17", 0, 0, false},
		{"sched", 0, 0, false},
	} {
		t.Run(test.name, func(t *testing.T) {
			pid, start, ok := parseOwner(test.name)
			if ok != test.ok || ok && (pid != test.pid || start != test.start) {
				t.Errorf("got %d, %d, %t; want %d, %d, %t", pid, start, ok, test.pid, test.start, test.ok)
			}
		})
	}
}

func TestAKernelWithoutTheFileHasNoGroups(t *testing.T) {
	tracefs := At(t.TempDir())
	if _, err := tracefs.NewGroup("uprobe_events"); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("NewGroup without uprobe_events: %v; want not exist", err)
	}
	if err := tracefs.TryEventProbe(); !errors.Is(err, ErrNoEventProbes) {
		t.Errorf("TryEventProbe without dynamic_events: %v", err)
	}
	if _, err := tracefs.NewGroup("dynamic_events"); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("NewGroup without dynamic_events: %v; want not exist", err)
	}
	if _, err := tracefs.NewGroup("set_event"); !errors.Is(err, fs.ErrInvalid) {
		t.Errorf("NewGroup in another file: %v; want invalid", err)
	}
	if removed, err := tracefs.RemoveStale(0); removed != nil || err != nil {
		t.Errorf("RemoveStale in an empty tracefs: %q, %v; want nothing", removed, err)
	}
}
