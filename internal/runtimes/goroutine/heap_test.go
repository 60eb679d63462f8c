package goroutine

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/ringtap/ringtap/callchain"
	"github.com/ringtap/ringtap/internal/process"
	"github.com/ringtap/ringtap/internal/testkit/compiled"
	"github.com/ringtap/ringtap/internal/testkit/fuzzing"
)

// heapProgram keeps objects of three sizes, drops others, collects garbage and says what
// its own profiler has: the sampled objects in use by size.
const heapProgram = `package main

import (
	"fmt"
	"os"
	"runtime"
)

var kept [][]byte

//go:noinline
func keeps(size, n int) {
	for i := 0; i < n; i++ {
		kept = append(kept, make([]byte, size))
	}
}

//go:noinline
func drops(n int) (last []byte) {
	for i := 0; i < n; i++ {
		last = make([]byte, 24<<10)
	}
	return last
}

func main() {
	keeps(1<<20, 20)
	keeps(96<<10, 400)
	keeps(512, 20000)
	drops(4000)
	for i := 0; i < 3; i++ {
		runtime.GC()
	}
	%s
	fmt.Println("ready")
	fmt.Println("end")
	os.Stdin.Read(make([]byte, 1))
}
`

const heapRecords = `records := make([]runtime.MemProfileRecord, 10000)
	n, _ := runtime.MemProfile(records, true)
	defer func() { _ = n }()
	fmt.Println("ready")
	for _, r := range records[:n] {
		if r.AllocObjects > 0 {
			fmt.Println(r.AllocBytes/r.AllocObjects, r.InUseObjects())
		}
	}
	fmt.Println("end")
	os.Stdin.Read(make([]byte, 1))`

func startHeap(t *testing.T, records string) *target {
	t.Helper()
	recipe := compiled.Recipe{
		Sources:  map[string]string{"main.go": fmt.Sprintf(heapProgram, records), "go.mod": "module heap\n\ngo 1.18\n"},
		Commands: [][]string{{"go", "build", "-o", "heap", "."}}, Env: []string{"GOFLAGS=", "CGO_ENABLED=0"},
	}
	return startCommand(t, exec.Command(filepath.Join(recipe.Dir(t), "heap")))
}

func TestTheHeapIsThatOfTheProgramsOwnProfiler(t *testing.T) {
	p := startHeap(t, heapRecords)
	want := make(map[string]int64) // sampled objects by size
	for {
		line, err := p.from.ReadString('\n')
		if err != nil {
			t.Fatal(err)
		}
		if line == "end\n" {
			break
		}
		var size string
		var n int64
		if _, err := fmt.Sscan(line, &size, &n); err != nil {
			t.Fatalf("%q: %v", line, err)
		}
		want[size] += n
	}
	h, err := FindHeap(p.process(t))
	if err != nil {
		t.Fatal(err)
	}
	sites, rate, err := h.Read(context.Background())
	if err != nil || rate != 512<<10 {
		t.Fatalf("rate %d, %v", rate, err)
	}
	got := make(map[string]int64)
	bytes := make(map[uint64]uint64) // of main.keeps, scaled
	for _, s := range sites {
		if s.Allocated > 0 {
			got[fmt.Sprint(s.size)] += s.Used
		}
		var names []string
		for _, f := range s.Frames {
			names = append(names, p.functions(t, f)...)
		}
		i := slices.Index(names, "main.keeps")
		if i < 0 || slices.Contains(names[:i], "runtime.growslice") {
			continue
		}
		if rest := strings.Join(names[i:], " "); rest != "main.keeps main.main runtime.main" {
			t.Errorf("an allocation of %d bytes has the callers %s", s.size, rest)
		}
		_, n := s.Scale(s.Used, rate)
		bytes[s.size] += n
	}
	for size, n := range want {
		if got[size] != n {
			t.Errorf("%d sampled objects of %s bytes are in use, the program has %d", got[size], size, n)
		}
	}
	// Each is at least six standard deviations of its estimate wide.
	for size, total := range map[uint64]uint64{1 << 20: 20 << 20, 96 << 10: 400 * 96 << 10, 512: 20000 * 512} {
		if bytes[size] < total/4 || bytes[size] > 3*total {
			t.Errorf("%d bytes are in objects of %d bytes, the program keeps %d", bytes[size], size, total)
		}
	}
}

func TestAProgramWithoutTheProfilerHasNoSamples(t *testing.T) {
	h, err := FindHeap(startHeap(t, "").process(t))
	if err != nil {
		t.Fatal(err)
	}
	if _, _, err := h.Read(context.Background()); !errors.Is(err, ErrNotSampled) {
		t.Errorf("%v, want %v", err, ErrNotSampled)
	}
}

// FuzzHeap reads the heap's samples from any memory.
func FuzzHeap(f *testing.F) {
	fuzzing.Bound(f)
	b := make([]byte, 512)
	word := func(at, value int) { binary.LittleEndian.PutUint64(b[at:], uint64(value)) }
	const rate, bucket = 8, 32
	word(0, imageBase+bucket)
	word(rate, 512<<10)
	word(bucket+bucketType, memBucket)
	word(bucket+bucketSize, 64)
	word(bucket+bucketDepth, 1)
	word(bucket+bucketHeader, imageBase)
	word(bucket+bucketHeader+8, 3)
	f.Add(b)
	space := process.NewTable(process.Options{Host: process.Host{Proc: "/nonexistent"}}).Process(-1)
	f.Fuzz(func(t *testing.T, b []byte) {
		h := &Heap{process: Process{Space: space}, memory: image{imageBase, b}, arch: callchain.Host(), buckets: imageBase, rate: imageBase + rate}
		sites, rate, err := h.Read(context.Background())
		if err == nil && len(sites) > 0 {
			sites[0].Scale(sites[0].Kept, rate)
		}
	})
}
