package recording

import (
	"errors"
	"os"
	"path/filepath"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/ringtap/ringtap/callchain"
	"github.com/ringtap/ringtap/internal/object/buildid"
	"github.com/ringtap/ringtap/internal/perfdata"
	"github.com/ringtap/ringtap/perfevent"
)

func TestKeepLeavesOutOtherSamples(t *testing.T) {
	sample := &perfevent.Sample{Header: perfevent.Header{PID: 10, TID: 11, CPU: 3, Time: 500}}
	for _, test := range []struct {
		name string
		keep Keep
		want bool
	}{
		{"all", Keep{}, true},
		{"its process", Keep{PIDs: []int{9, 10}}, true},
		{"other processes", Keep{PIDs: []int{11}}, false},
		{"its thread", Keep{TIDs: []int{11}}, true},
		{"other threads", Keep{TIDs: []int{10}}, false},
		{"its CPU", Keep{CPUs: []int{3}}, true},
		{"CPU 0 alone", Keep{CPUs: []int{0}}, false},
		{"from its time on", Keep{From: 500}, true},
		{"later", Keep{From: 501}, false},
		{"up to its time", Keep{To: 500}, false},
		{"past its time", Keep{From: 1, To: 501}, true},
	} {
		if got := test.keep.has(sample); got != test.want {
			t.Errorf("%s: %v", test.name, got)
		}
	}
}

func TestAPathOfTwoRecordedFilesHasNoBuildID(t *testing.T) {
	m := newImages(&perfdata.File{BuildIDs: []perfdata.BuildID{
		{Filename: "/bin/one", ID: []byte("11")}, {Filename: "/bin/two", ID: []byte("21")},
		{Filename: "/bin/two", ID: []byte("22")}, {Filename: "/bin/one", ID: []byte("11")},
	}}, buildid.Files{})
	for _, test := range []struct{ path, has, want string }{
		{"/bin/one", "", "11"},
		{"/bin/two", "", ""},
		{"/bin/one", "33", "33"}, // the record's own
		{"/bin/three", "", ""},
	} {
		r := &perfevent.Mmap{Filename: []byte(test.path), BuildID: []byte(test.has)}
		if m.identify(r); string(r.BuildID) != test.want {
			t.Errorf("%s: %q, want %q", test.path, r.BuildID, test.want)
		}
	}
}

func TestAFileWithoutABuildIDMustBeOlderThanTheRecording(t *testing.T) {
	path := filepath.Join(t.TempDir(), "file")
	if err := os.WriteFile(path, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	now := time.Now()
	for _, test := range []struct {
		path string
		made time.Time
		want error
	}{
		{path, now.Add(time.Hour), nil},
		{path, now.Add(-time.Hour), errChanged},
		{path + "2", now.Add(time.Hour), os.ErrNotExist},
		{"[vdso]", now, errNoBuildID},
		{"/dev/null", now, errNoBuildID},
	} {
		m := images{made: test.made}
		f, isSame, err := m.open(test.path, nil)
		if !errors.Is(err, test.want) || isSame || (err == nil) != (f != nil) {
			t.Errorf("%s, recorded at %v: %v, %v, %v", test.path, test.made, f, isSame, err)
		}
		if f != nil {
			f.Close()
		}
	}
}

func TestTheKernelIsTheRecordedOne(t *testing.T) {
	running, err := buildid.Kernel()
	if err != nil {
		t.Skipf("the running kernel has no build id: %v", err)
	}
	var host unix.Utsname
	if err := unix.Uname(&host); err != nil {
		t.Fatal(err)
	}
	name, err := os.Hostname()
	if err != nil {
		t.Fatal(err)
	}
	release := unix.ByteSliceToString(host.Release[:])
	var up unix.Timespec
	if err := unix.ClockGettime(unix.CLOCK_BOOTTIME, &up); err != nil {
		t.Fatal(err)
	}
	beforeBoot := time.Now().Add(-time.Duration(up.Nano()) - time.Hour)
	header := []perfdata.BuildID{{Filename: "[guest.kernel.kallsyms]", Kernel: true, ID: []byte("g")}, {Filename: "[kernel.kallsyms]", Kernel: true, ID: []byte("k")}}
	for _, test := range []struct {
		what     string
		info     perfdata.Info
		modified time.Time
		ids      []perfdata.BuildID
		want     string
	}{
		{"a build id", perfdata.Info{Hostname: name, Release: release}, time.Now(), header, "k"},
		{"no build id, this host", perfdata.Info{Hostname: name, Release: release}, time.Now(), nil, string(running)},
		{"no build id, another host", perfdata.Info{Hostname: name + "2", Release: release}, time.Now(), nil, ""},
		{"no build id, another kernel", perfdata.Info{Hostname: name, Release: release + "2"}, time.Now(), nil, ""},
		{"no build id, before this boot", perfdata.Info{Hostname: name, Release: release}, beforeBoot, nil, ""},
		{"nothing", perfdata.Info{}, time.Now(), nil, ""},
	} {
		f := &perfdata.File{Info: test.info, BuildIDs: test.ids}
		if got := kernelOf(f, test.modified).BuildID; string(got) != test.want {
			t.Errorf("%s: %x", test.what, got)
		}
	}
}

func TestMappingsOfTheKernelSayWhereItWas(t *testing.T) {
	k := Kernel{Modules: make(map[string]uint64)}
	kernel := func(name string, addr, pgoff uint64) {
		r := &perfevent.Mmap{Filename: []byte(name), Addr: addr, Pgoff: pgoff}
		r.Misc = unix.PERF_RECORD_MISC_KERNEL
		k.mapped(r)
	}
	kernel("[kernel.kallsyms]_text", 0xffffffff81000000, 0xffffffff81000010)
	kernel("[nf_tables]", 0xffffffffc0100000, 0)
	kernel("/lib/modules/6.1.0/kernel/net/xt-mark.ko.xz", 0xffffffffc0200000, 0)
	user := &perfevent.Mmap{Filename: []byte("[kernel.kallsyms]_lie")}
	user.Misc = unix.PERF_RECORD_MISC_USER
	k.mapped(user)
	if k.Symbol != "_text" || k.Address != 0xffffffff81000010 {
		t.Errorf("the kernel's %s was at %#x", k.Symbol, k.Address)
	}
	if len(k.Modules) != 2 || k.Modules["nf_tables"] != 0xffffffffc0100000 || k.Modules["xt_mark"] != 0xffffffffc0200000 {
		t.Errorf("modules: %#x", k.Modules)
	}
}

func TestStacksOfUnknownMachinesAreNotUnwound(t *testing.T) {
	for machine, want := range map[string]struct {
		arch    callchain.Arch
		unwinds bool
	}{
		"x86_64": {callchain.AMD64, true}, "aarch64": {callchain.ARM64, true},
		"": {callchain.Host(), true}, "ppc64le": {callchain.Host(), false},
	} {
		if arch, unwinds := archOf(machine); arch != want.arch || unwinds != want.unwinds {
			t.Errorf("%q: %v, %v", machine, arch, unwinds)
		}
	}
}
