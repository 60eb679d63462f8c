package process

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"testing"
)

func TestParseAreaReadsTheLinesOfMaps(t *testing.T) {
	tests := []struct {
		line string
		want Area
	}{
		{
			"55a493272000-55a493277000 r-xp 00002000 fe:00 247026                     /usr/bin/cat",
			Area{0x55a493272000, 0x55a493277000, 0x2000, false, true, []byte("/usr/bin/cat"), fileID{0xfe, 0, 247026}},
		},
		{
			"7fe3ec1ed000-7fe3ec20f000 rw-p 00000000 00:00 0 ",
			Area{Start: 0x7fe3ec1ed000, End: 0x7fe3ec20f000, Writable: true},
		},
		{
			"7fe3ec1ed000-7fe3ec20f000 --xp 00000000 00:00 0",
			Area{Start: 0x7fe3ec1ed000, End: 0x7fe3ec20f000, Executable: true},
		},
		{
			"ffffffffff600000-ffffffffff601000 --xp 00000000 00:00 0                  [vsyscall]",
			Area{Start: 0xffffffffff600000, End: 0xffffffffff601000, Executable: true, Path: []byte("[vsyscall]")},
		},
		{
			"00400000-00500000 r-xp ffff000000 103:abcde 18446744073709551615         /a b  c ",
			Area{0x400000, 0x500000, 0xffff000000, false, true, []byte("/a b  c "), fileID{0x103, 0xabcde, 1<<64 - 1}},
		},
	}
	for _, test := range tests {
		got, ok := parseArea([]byte(test.line))
		if !ok || !bytes.Equal(got.Path, test.want.Path) {
			t.Errorf("%q: path %q, %t; want %q", test.line, got.Path, ok, test.want.Path)
		}
		got.Path, test.want.Path = nil, nil
		if fmt.Sprint(got) != fmt.Sprint(test.want) {
			t.Errorf("%q:\n got %+v\nwant %+v", test.line, got, test.want)
		}
		if isExecutable([]byte(test.line)) != test.want.Executable {
			t.Errorf("%q: isExecutable is not %t", test.line, test.want.Executable)
		}
	}
}

func TestParseAreaRefusesWhatIsNoLineOfMaps(t *testing.T) {
	for _, line := range []string{
		"", "-", "1000", "1000-", "1000-2000", "1000-2000 ", "1000-2000 r-xp", "1000-2000 r-xp ",
		"1000-2000 r-xp 0", "1000-2000 r-xp 0 8", "1000-2000 r-xp 0 8:", "1000-2000 r-xp 0 8:1 ",
		"2000-1000 r-xp 0 8:1 5", "1000-1000 r-xp 0 8:1 5", "1000-2000 r-xpq 0 8:1 5",
		"1000-2000 r-xp 0 8:1 5x", "1000-2000 r-xp 0 8:100000000 5", "g000-2000 r-xp 0 8:1 5",
		"1000-20000000000000000 r-xp 0 8:1 5", "1000-2000 r-xp 0 8:1 99999999999999999999",
		" 1000-2000 r-xp 0 8:1 5",
	} {
		if a, ok := parseArea([]byte(line)); ok {
			t.Errorf("%q was read as %+v", line, a)
		}
	}
}

func TestParseStatusReadsWhatIsNeeded(t *testing.T) {
	tests := []struct {
		pid  int
		want Status
	}{
		{1, Status{Comm: "systemd", TGID: 1, NSPID: 1}},
		{77, Status{PPID: 1, Comm: "j\nit\\1", TGID: 77, NSPID: 77, UIDs: [2]uint32{1000, 1001}}},
		{500, Status{PPID: 1, Comm: "server", TGID: 500, NSPID: 500, zombie: true}},
		{4242, Status{PPID: 1, Comm: "nginx", TGID: 4242, NSPID: 1, nested: true, UIDs: [2]uint32{101, 101}}},
	}
	for _, test := range tests {
		text, err := os.ReadFile(filepath.Join("testdata/proc", fmt.Sprint(test.pid), "status"))
		if err != nil {
			t.Fatal(err)
		}
		if got, ok := parseStatus(text); !ok || got != test.want {
			t.Errorf("%d:\n got %+v, %t\nwant %+v", test.pid, got, ok, test.want)
		}
	}
	caught := Status{TGID: 7, NSPID: 7, Caught: 0x7be3c0fe28014a03}
	if got, ok := parseStatus([]byte("Tgid:\t7\nSigCgt:\t7be3c0fe28014a03\n")); !ok || got != caught {
		t.Errorf("signals that have a handler: %+v, %t, want %+v", got, ok, caught)
	}
	if _, ok := parseStatus([]byte("Name:\tx\n")); ok {
		t.Error("a status without Tgid was accepted")
	}
}

func TestParseCgroupPrefersVersion2WhereItIsUsed(t *testing.T) {
	tests := []struct{ name, text, want string }{
		{"version 2 alone", "0::/system.slice/a.service\n", "/system.slice/a.service"},
		{"version 2 alone, in the root", "0::/\n", "/"},
		{"both, version 2 used by systemd", "3:cpu,cpuacct:/b\n1:name=systemd:/c\n0::/a\n", "/a"},
		{"both, version 2 not used", "9:name=systemd:/d\n4:memory:/c\n2:cpu,cpuacct:/b\n0::/\n", "/b"},
		{"perf_event before cpu", "2:cpu,cpuacct:/b\n1:perf_event:/p\n", "/p"},
		{"only a hierarchy that says nothing", "5:freezer:/f\n", "/"},
		{"a colon in the path", "0::/a:b\n", "/a:b"},
		{"a removed cgroup", "0::/gone (deleted)\n", "/gone"},
		{"outside of our cgroup namespace", "0::/../x\n", "/../x"},
		{"no lines", "", ""},
		{"no cgroups", "0:\n::\n:\n0::x\n", ""},
	}
	for _, test := range tests {
		if got := parseCgroup([]byte(test.text)); got != test.want {
			t.Errorf("%s: %q; want %q", test.name, got, test.want)
		}
	}
}

func TestLinesLeavesOutOnlyTheLineThatIsTooLong(t *testing.T) {
	path := filepath.Join(t.TempDir(), "maps")
	long := bytes.Repeat([]byte("x"), 3*readSize)
	text := append(append([]byte("first\n"), long...), "\nsecond\n\nlast"...)
	if err := os.WriteFile(path, text, 0o644); err != nil {
		t.Fatal(err)
	}
	var got []string
	err := newProcfs(Host{}).lines(path, func(line []byte) bool {
		got = append(got, string(line))
		return true
	})
	if want := []string{"first", "second", "", "last"}; err != nil || fmt.Sprint(got) != fmt.Sprint(want) {
		t.Errorf("lines = %q, %v; want %q", got, err, want)
	}
}

func TestPathsAreAsTheProcessSeesThem(t *testing.T) {
	tests := []struct {
		path, want string
		deleted    bool
	}{
		{"/a", "/a", false},
		{"/a (deleted)", "/a", true},
		{"/memfd:x (deleted)", "/memfd:x", true},
		{"/a (deleted) (deleted)", "/a (deleted)", true},
		{"/a\\012b", "/a\nb", false},
		{"[anon:x (deleted)", "[anon:x (deleted)", false},
		{" (deleted)", " (deleted)", false},
		{"", "", false},
	}
	for _, test := range tests {
		got, deleted := cutDeleted(unescape([]byte(test.path)))
		if string(got) != test.want || deleted != test.deleted {
			t.Errorf("%q: %q, %t; want %q, %t", test.path, got, deleted, test.want, test.deleted)
		}
	}
}

func FuzzParseArea(f *testing.F) {
	for _, name := range []string{"testdata/proc/1/maps", "testdata/proc/77/maps"} {
		text, err := os.ReadFile(name)
		if err != nil {
			f.Fatal(err)
		}
		for line := range bytes.Lines(text) {
			f.Add(bytes.TrimSuffix(line, newline))
		}
	}
	f.Fuzz(func(t *testing.T, line []byte) {
		a, ok := parseArea(line)
		if !ok {
			return
		}
		if a.End <= a.Start {
			t.Errorf("accepted %#x to %#x", a.Start, a.End)
		}
		if a.Executable != isExecutable(line) {
			t.Errorf("executable by one function only")
		}
		if clean, _ := cutDeleted(unescape(a.Path)); len(clean) > len(a.Path) {
			t.Errorf("%q grew to %q", a.Path, clean)
		}
	})
}

func FuzzParseStatus(f *testing.F) {
	for _, name := range []string{"testdata/proc/77/status", "testdata/proc/4242/status"} {
		text, err := os.ReadFile(name)
		if err != nil {
			f.Fatal(err)
		}
		f.Add(text)
	}
	f.Fuzz(func(t *testing.T, text []byte) {
		s, ok := parseStatus(text)
		if ok && (s.TGID <= 0 || s.TGID > maxPID || s.NSPID < 0 || s.NSPID > maxPID) {
			t.Errorf("accepted %+v", s)
		}
	})
}

func FuzzParseCgroup(f *testing.F) {
	f.Add([]byte("4:cpu,cpuacct:/user.slice\n3:perf_event:/\n0::/\n"))
	f.Add([]byte("0::/a (deleted)\n"))
	f.Fuzz(func(t *testing.T, text []byte) {
		if path := parseCgroup(text); path != "" && path[0] != '/' {
			t.Errorf("%q is no path", path)
		}
	})
}
