package symbols

import (
	"bufio"
	"bytes"
	"debug/elf"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"runtime"
	"strconv"
	"strings"
	"testing"
)

// systemFiles are ELF files of this host that tests compare with other tools.
func systemFiles(t testing.TB) []string {
	t.Helper()
	var files []string
	if tool, err := exec.LookPath("go"); err == nil {
		files = append(files, tool)
	}
	for _, pattern := range []string{
		"/lib/*-linux-gnu/libc.so.6", "/usr/lib/*-linux-gnu/libstdc++.so.6",
		"/usr/lib/*-linux-gnu/libcrypto.so.3", "/bin/bash",
		"/usr/bin/perf",
	} {
		matches, _ := filepath.Glob(pattern)
		files = append(files, matches...)
	}
	if len(files) == 0 {
		t.Skip("no ELF files to compare")
	}
	return files
}

func TestPeerFunctionsAreThoseThatNmPrints(t *testing.T) {
	for _, path := range append(systemFiles(t), buildC(t), buildC(t, "-static"), buildC(t, "-no-pie")) {
		t.Run(filepath.Base(path), func(t *testing.T) {
			reference, err := elf.Open(path)
			if err != nil {
				t.Fatal(err)
			}
			defer reference.Close()
			args := []string{path}
			if reference.Section(".symtab") == nil {
				args = []string{"-D", path}
			}
			functions := nmFunctions(t, run(t, "nm", args...))
			f := openFile(t, path, Options{})
			if err := f.Load(); err != nil {
				t.Errorf("Load: %v", err)
			}
			for addr, names := range functions {
				s, ok := f.Lookup(offsetOf(reference, addr))
				if len(names) == 1 && isLinkerMark(names[0]) {
					continue
				}
				if !ok || !anyVersion(names, s.Name) || s.Start != offsetOf(reference, addr) {
					t.Errorf("%#x: got %v, %v, want one of %q", addr, s, ok, names)
				}
			}
			if len(functions) < 10 {
				t.Errorf("nm printed %d functions", len(functions))
			}
			t.Logf("%d addresses", len(functions))
		})
	}
}

// isLinkerMark reports whether nm takes for code what stands behind it.
func isLinkerMark(name string) bool {
	return name == "runtime.etext" || name == "_etext" || name == "etext" || name == "data_start"
}

func anyVersion(names []string, got string) bool {
	for _, name := range names {
		if base, _, _ := strings.Cut(name, "@"); base == got {
			return true
		}
	}
	return false
}

func TestPeerDebugFilesGiveWhatNmPrintsOfThem(t *testing.T) {
	found := false
	for _, path := range systemFiles(t) {
		id := openFile(t, path, Options{}).BuildID()
		if len(id) < 4 {
			continue
		}
		debug := filepath.Join(debugRoot, ".build-id", id[:2], id[2:]+".debug")
		if _, err := os.Stat(debug); err != nil {
			continue
		}
		found = true
		reference, err := elf.Open(path)
		if err != nil {
			t.Fatal(err)
		}
		defer reference.Close()
		f := openFile(t, path, Options{Path: path, Open: hostFiles("/")})
		for addr, names := range nmFunctions(t, run(t, "nm", debug)) {
			s, ok := f.Lookup(offsetOf(reference, addr))
			if !ok || !anyVersion(names, s.Name) || s.Start != offsetOf(reference, addr) {
				t.Errorf("%s %#x: got %v, %v, want one of %q", path, addr, s, ok, names)
			}
		}
		if err := f.Close(); err != nil {
			t.Errorf("Close: %v", err)
		}
	}
	if !found {
		t.Skip("no debug files of the distribution")
	}
}

func TestPeerSizesAreThoseThatReadelfPrints(t *testing.T) {
	for _, path := range systemFiles(t) {
		t.Run(filepath.Base(path), func(t *testing.T) {
			f := openFile(t, path, Options{})
			table, _ := f.load()
			sizes := map[uint64]map[uint64]bool{}
			lines := bufio.NewScanner(bytes.NewReader(run(t, "readelf", "-W", "-s", path)))
			for lines.Scan() {
				fields := strings.Fields(lines.Text())
				if len(fields) < 8 || fields[3] != "FUNC" && fields[3] != "IFUNC" || fields[6] == "UND" {
					continue
				}
				addr, err := strconv.ParseUint(fields[1], 16, 64)
				if err != nil {
					t.Fatal(err)
				}
				size, err := strconv.ParseUint(fields[2], 0, 64)
				if err != nil {
					t.Fatal(err)
				}
				if sizes[addr] == nil {
					sizes[addr] = map[uint64]bool{}
				}
				sizes[addr][size] = true
			}
			for _, e := range table.entries {
				want := sizes[e.addr]
				if len(want) > 0 && !want[0] && !want[uint64(e.size)] {
					t.Errorf("%#x: size %d, want one of %v", e.addr, e.size, want)
				}
			}
		})
	}
}

func TestPeerStubsAreNamedAsObjdumpNamesThem(t *testing.T) {
	label := regexp.MustCompile(`(?m)^([0-9a-f]+) <(.+@plt)>:$`)
	files := append(systemFiles(t), buildC(t), buildC(t, "-no-pie"), buildC(t, "-Wl,-z,now"))
	if runtime.GOARCH == "amd64" {
		files = append(files, buildC(t, "-fcf-protection", "-Wl,-z,ibtplt"), buildC(t, "-fcf-protection", "-Wl,-z,ibtplt,-z,now"))
	}
	stubs := 0
	for _, path := range files {
		t.Run(filepath.Base(path), func(t *testing.T) {
			reference, err := elf.Open(path)
			if err != nil {
				t.Fatal(err)
			}
			defer reference.Close()
			f := openFile(t, path, Options{})
			for _, section := range []string{".plt", ".plt.sec", ".plt.got"} {
				if reference.Section(section) == nil {
					continue
				}
				for _, m := range label.FindAllStringSubmatch(string(run(t, "objdump", "-d", "-j", section, path)), -1) {
					if strings.HasPrefix(m[2], "*ABS*") {
						continue // objdump has no name for what is chosen at load time
					}
					addr, err := strconv.ParseUint(m[1], 16, 64)
					if err != nil {
						t.Fatal(err)
					}
					if s, ok := f.Lookup(offsetOf(reference, addr)); !ok || s.Name != m[2] {
						t.Errorf("%s %#x: got %v, %v, want %s", section, addr, s, ok, m[2])
					}
					stubs++
				}
			}
		})
	}
	if stubs < 20 {
		t.Errorf("objdump printed %d stubs", stubs)
	}
}

func TestPeerBuildIDIsWhatReadelfPrints(t *testing.T) {
	pattern := regexp.MustCompile(`Build ID: ([0-9a-f]+)`)
	for _, path := range append(systemFiles(t), buildC(t, "-Wl,--build-id=md5"), buildC(t, "-Wl,--build-id=none")) {
		want := ""
		if m := pattern.FindSubmatch(run(t, "readelf", "-n", path)); m != nil {
			want = string(m[1])
		}
		if got := openFile(t, path, Options{}).BuildID(); got != want {
			t.Errorf("%s: build id %q, want %q", path, got, want)
		}
	}
}

func TestLiveVDSOIsAFileInMemory(t *testing.T) {
	maps, err := os.ReadFile("/proc/self/maps")
	if err != nil {
		t.Skip("no /proc")
	}
	m := regexp.MustCompile(`(?m)^([0-9a-f]+)-([0-9a-f]+) .*\[vdso\]$`).FindSubmatch(maps)
	if m == nil {
		t.Skip("no vdso")
	}
	start, _ := strconv.ParseUint(string(m[1]), 16, 64)
	end, _ := strconv.ParseUint(string(m[2]), 16, 64)
	mem, err := os.Open("/proc/self/mem")
	if err != nil {
		t.Skip("no /proc/self/mem")
	}
	defer mem.Close()
	image := make([]byte, end-start)
	if _, err := mem.ReadAt(image, int64(start)); err != nil {
		t.Fatal(err)
	}
	f, err := Open(bytes.NewReader(image), int64(len(image)), Options{})
	if err != nil {
		t.Fatal(err)
	}
	want := map[string]string{"amd64": "clock_gettime", "arm64": "__kernel_clock_gettime"}[runtime.GOARCH]
	if have := symbolNames(allSymbols(t, f)); !have[want] {
		t.Errorf("no %s among %v", want, have)
	}
}
