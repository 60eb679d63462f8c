package pytable

import (
	"debug/elf"
	"fmt"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/ringtap/ringtap/internal/testkit/interptest"
	"github.com/ringtap/ringtap/internal/testkit/testlimit"
)

// layouts are releases whose structures differ: without tp_vectorcall, and with it.
func layouts() []string { return []string{"3.7m", "3.11"} }

// Each name is of the very function that gdb finds in the table by the debug information,
// in releases that are installed. Their symbols are not read.
func TestPeerNamesAreOfTheFunctionsThatGdbFindsInTheTables(t *testing.T) {
	gdb, err := exec.LookPath("gdb")
	if err != nil {
		t.Skip("gdb is not installed")
	}
	compared := 0
	for _, python := range interptest.Installed("python") {
		prefix := filepath.Join(filepath.Dir(python), "..")
		libs, _ := filepath.Glob(filepath.Join(prefix, "lib/libpython3.*.so.1.0"))
		headers, _ := filepath.Glob(filepath.Join(prefix, "include/python3.*/typeslots.h"))
		for _, lib := range libs {
			of := func(release string) bool { return strings.HasSuffix(lib, "libpython"+release+".so.1.0") }
			if len(headers) != 1 || !testlimit.IsThorough() && !slices.ContainsFunc(layouts(), of) || !hasDebugInformation(t, lib) {
				continue
			}
			compared++
			t.Run(filepath.Base(lib), func(t *testing.T) {
				t.Parallel()
				compare(t, lib, gdbNames(t, gdb, lib, headers[0]))
			})
		}
	}
	if compared == 0 {
		t.Skip("no CPython with debug information of these releases is installed: " + strings.Join(layouts(), ", "))
	}
}

// compare looks each name up in those that gdb has found, and each of those in ours. Where
// the file exports a function, the loader has the address, and gdb not.
func compare(t *testing.T, lib string, truth map[uint64]map[string]bool) {
	var types Type
	symbols := map[uint64]bool{}
	for _, s := range exported(t, lib) {
		symbols[s.Value] = true
		if s.Name == "PyType_Type" {
			types = Type{s.Value, s.Size}
		}
	}
	names, err := Functions(interptest.Module(t, lib).Image, types)
	if err != nil {
		t.Fatal(err)
	}
	ours := 0
	for addr, name := range names {
		if symbols[addr] {
			continue
		}
		ours++
		for _, one := range strings.Split(strings.TrimSuffix(name, "|*"), "|") {
			if !truth[addr][one] {
				t.Errorf("%#x is %s, by gdb %v", addr, one, truth[addr])
			}
		}
	}
	var missing []string
	for addr, of := range truth {
		if names[addr] == "" && !symbols[addr] {
			missing = append(missing, fmt.Sprint(of))
		}
	}
	t.Logf("%d names; %d functions of tables have none: %v", ours, len(missing), missing)
	if ours < 2000 || len(missing) > 10 {
		t.Errorf("%d functions have names, %d not", ours, len(missing))
	}
}

// gdbNames has testdata/truth.py print the tables.
func gdbNames(t *testing.T, gdb, lib, header string) map[uint64]map[string]bool {
	t.Helper()
	cmd := exec.Command(gdb, "-nx", "-batch", "-ex", fmt.Sprintf("set $header = %q", header), "-x", "testdata/truth.py", lib)
	testlimit.Limit(t, cmd)
	out, err := cmd.CombinedOutput()
	if err != nil {
		t.Fatalf("gdb: %v\n%s", err, out)
	}
	truth := map[uint64]map[string]bool{}
	for line := range strings.Lines(string(out)) {
		name, hex, ok := strings.Cut(strings.TrimSuffix(line, "\n"), "\t0x")
		addr, err := strconv.ParseUint(hex, 16, 64)
		if !ok || err != nil {
			t.Fatalf("gdb prints %q", line)
		}
		if truth[addr] == nil {
			truth[addr] = map[string]bool{}
		}
		truth[addr][name] = true
	}
	return truth
}

func hasDebugInformation(t *testing.T, path string) bool {
	t.Helper()
	f, err := elf.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	return f.Section(".debug_info") != nil
}

// BenchmarkFunctions reads the tables of a CPython of the machine.
func BenchmarkFunctions(b *testing.B) {
	for _, python := range interptest.Installed("python") {
		libs, _ := filepath.Glob(filepath.Join(filepath.Dir(python), "../lib/libpython3.*.so.1.0"))
		for _, lib := range libs {
			m := interptest.Module(b, lib).Image
			b.Run(filepath.Base(lib), func(b *testing.B) {
				b.ReportAllocs()
				for b.Loop() {
					if _, err := Functions(m, Type{}); err != nil {
						b.Fatal(err)
					}
				}
			})
		}
	}
}
