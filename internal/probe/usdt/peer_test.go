package usdt

import (
	"debug/elf"
	"fmt"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"testing"
)

var readelfProbe = regexp.MustCompile(`Provider: (.*)
    Name: (.*)
    Location: 0x([0-9a-f]+), Base: 0x[0-9a-f]+, Semaphore: 0x([0-9a-f]+)
    Arguments: ?(.*)
`)

// TestPeerReadelfSeesTheSameProbes compares every file of this machine that is
// known to have probes, and those of the tests.
func TestPeerReadelfSeesTheSameProbes(t *testing.T) {
	if _, err := exec.LookPath("readelf"); err != nil {
		t.Skip("readelf is not installed")
	}
	var paths []string
	for _, program := range programs {
		paths = append(paths, compile(t, "prog.c", program.flags...))
	}
	for _, pattern := range []string{
		"/usr/lib/*-linux-gnu/libstdc++.so.6", "/usr/lib/*-linux-gnu/libc.so.6", "/usr/lib/*-linux-gnu/libpython3*.so.1.0",
		"/lib*/ld-linux*.so.*", "/usr/lib/postgresql/*/bin/postgres", "/usr/bin/python3", "/usr/bin/node", "/usr/sbin/mysqld",
	} {
		found, err := filepath.Glob(pattern)
		must(t, err)
		paths = append(paths, found...)
	}
	total := 0
	for _, path := range paths {
		total += compareReadelf(t, path)
	}
	t.Logf("%d probes in %d files", total, len(paths))
}

func compareReadelf(t *testing.T, path string) int {
	t.Helper()
	out, err := exec.Command("readelf", "--wide", "--notes", path).Output()
	must(t, err)
	file, err := elf.Open(path)
	must(t, err)
	defer file.Close()
	offset := func(hex string) uint64 {
		addr, err := strconv.ParseUint(hex, 16, 64)
		must(t, err)
		for _, s := range file.Progs {
			if s.Type == elf.PT_LOAD && addr >= s.Vaddr && addr < s.Vaddr+s.Filesz {
				return addr - s.Vaddr + s.Off
			}
		}
		return 0
	}
	var want []string
	for _, m := range readelfProbe.FindAllStringSubmatch(string(out), -1) {
		want = append(want, fmt.Sprintf("%s:%s %#x %#x %s", m[1], m[2], offset(m[3]), offset(m[4]), m[5]))
	}
	probes, err := Read(image(t, path))
	if err != nil {
		t.Errorf("%s: %v", path, err)
	}
	if len(probes) != len(want) {
		t.Errorf("%s: %d probes; readelf has %d", path, len(probes), len(want))
		return 0
	}
	for i, p := range probes {
		if got := fmt.Sprintf("%s %#x %#x %s", p, p.Location, p.Semaphore, p.Args); got != want[i] {
			t.Errorf("%s:\n    got %s\nreadelf %s", path, got, want[i])
		}
		if _, err := p.FetchArgs(file.Machine); err != nil {
			t.Logf("%s: %v", path, err)
		}
	}
	return len(want)
}
