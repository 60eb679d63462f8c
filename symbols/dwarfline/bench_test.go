package dwarfline

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
	"time"

	"golang.org/x/sys/unix"
)

// large returns a large program with DWARF: the one that DWARFLINE_PROGRAM
// names, else the go command, built here: the installed one may be stripped.
func large(b *testing.B) string {
	b.Helper()
	if file := os.Getenv("DWARFLINE_PROGRAM"); file != "" {
		return file
	}
	file := filepath.Join(b.TempDir(), "go")
	cmd := exec.Command(tool(b, "go"), "build", "-o", file, "cmd/go")
	if out, err := cmd.CombinedOutput(); err != nil {
		b.Skipf("no go command built from source: %v: %s", err, out)
	}
	return file
}

// spread returns n instructions from all over the program.
func spread(b *testing.B, file string, n int) []place {
	b.Helper()
	_, f := openELF(b, file)
	places := instructions(b, f, 1)
	step := max(len(places)/n, 1)
	var out []place
	for i := 0; i < len(places) && len(out) < n; i += step {
		out = append(out, places[i])
	}
	return out
}

// inlined returns an address with inlined calls.
func inlined(b *testing.B, x *Index, places []place) uint64 {
	b.Helper()
	for _, p := range places {
		if lines, _ := x.Lookup(p.addr); len(lines) > 1 {
			return p.addr
		}
	}
	b.Fatal("nothing is inlined")
	return 0
}

// processorTime is the user and system time of this process so far: on a busy
// machine the clock says little.
func processorTime(b *testing.B) time.Duration {
	b.Helper()
	var u unix.Rusage
	if err := unix.Getrusage(unix.RUSAGE_SELF, &u); err != nil {
		b.Fatal(err)
	}
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}

// BenchmarkLookup10000 is a report's work: open the file, look up 10,000
// addresses from all over it once. The bytes kept at its end are reported.
func BenchmarkLookup10000(b *testing.B) {
	file := large(b)
	places := spread(b, file, 10000)
	b.ReportAllocs()
	var before, after runtime.MemStats
	var x *Index
	runtime.GC()
	runtime.ReadMemStats(&before)
	start := processorTime(b)
	for b.Loop() {
		x, _ = openELF(b, file)
		for _, p := range places {
			if _, err := x.Lookup(p.addr); err != nil {
				b.Fatal(err)
			}
		}
	}
	used := processorTime(b) - start
	runtime.GC()
	runtime.ReadMemStats(&after)
	b.ReportMetric(used.Seconds()*1e3/float64(b.N), "cpu-ms/op")
	b.ReportMetric(float64(after.HeapAlloc-before.HeapAlloc)/(1<<20), "MB-kept")
	b.ReportMetric(float64(len(places)), "lookups/op")
	runtime.KeepAlive(x)
}

// BenchmarkPeerLookup10000 is the same work by other programs.
func BenchmarkPeerLookup10000(b *testing.B) {
	file := large(b)
	var in strings.Builder
	for _, p := range spread(b, file, 10000) {
		fmt.Fprintf(&in, "%#x\n", p.addr)
	}
	for _, name := range []string{"addr2line", "llvm-addr2line"} {
		b.Run(name, func(b *testing.B) {
			program := tool(b, name)
			var used time.Duration
			for b.Loop() {
				cmd := exec.Command(program, "-f", "-i", "-e", file)
				cmd.Stdin = strings.NewReader(in.String())
				if err := cmd.Run(); err != nil {
					b.Fatal(err)
				}
				used += cmd.ProcessState.UserTime() + cmd.ProcessState.SystemTime()
			}
			b.ReportMetric(used.Seconds()*1e3/float64(b.N), "cpu-ms/op")
		})
	}
}

// BenchmarkFirstLookup is the time to the first answer, without reading the
// sections from the file.
func BenchmarkFirstLookup(b *testing.B) {
	file := large(b)
	x, f := openELF(b, file)
	addr := inlined(b, x, spread(b, file, 1000))
	src := memory{}
	for _, s := range f.Sections {
		if strings.HasPrefix(s.Name, ".debug_") {
			src[s.Name], _ = s.Data()
		}
	}
	b.ReportAllocs()
	for b.Loop() {
		x, err := Open(src, f.ByteOrder)
		if err != nil {
			b.Fatal(err)
		}
		if _, err := x.Lookup(addr); err != nil {
			b.Fatal(err)
		}
	}
}

// BenchmarkLookupAgain is a lookup in a unit that is decoded.
func BenchmarkLookupAgain(b *testing.B) {
	file := large(b)
	x, _ := openELF(b, file)
	addr := inlined(b, x, spread(b, file, 1000))
	b.ReportAllocs()
	for b.Loop() {
		if _, err := x.Lookup(addr); err != nil {
			b.Fatal(err)
		}
	}
}
