package interptest

import (
	"flag"
	"path/filepath"
	"slices"
	"testing"

	"github.com/ringtap/ringtap/callchain"
	"github.com/ringtap/ringtap/internal/runtimes/interp"
	"github.com/ringtap/ringtap/internal/testkit/fuzzing"
)

// Recording is a recorded walk of a thread's interpreted calls: the memory it read, and the frames it found.
type Recording struct {
	TID     int
	Numbers map[string]uint64 // what attaching to the process found, by name
	Memory  interp.Image
	Frames  []interp.Frame
}

// RecordFlag defines the flag -record and returns its value: whether to write the recordings again.
func RecordFlag() *bool { return flag.Bool("record", false, "write the recordings of testdata anew") }

// maxDepth is more than the number of calls in any chain of a test.
const maxDepth = 4096

// walked walks the calls of thread tid and returns their frames. depth is the most calls that it reads.
func walked(r interp.Runtime, tid, depth int) (frames []interp.Frame, end callchain.End) {
	calls, end := r.Walker(nil).Walk(make([]interp.Call, 0, depth), &interp.Thread{TID: tid})
	for _, c := range calls {
		frames, _ = r.Frames(frames, c)
	}
	return frames, end
}

// Record walks thread tid in the memory m and writes a Recording of that to path.
func Record(t testing.TB, path string, m interp.Memory, tid int, numbers map[string]uint64, runtime func(interp.Memory) interp.Runtime) {
	t.Helper()
	recorder := NewRecorder(m)
	r := &Recording{TID: tid, Numbers: numbers}
	var end callchain.End
	if r.Frames, end = walked(runtime(recorder), tid, maxDepth); end != callchain.Complete {
		t.Fatalf("the chain is %s", end)
	}
	r.Memory = recorder.Image()
	Save(t, path, r)
}

// Recordings returns the recordings in testdata, by path.
func Recordings(t testing.TB) map[string]*Recording {
	t.Helper()
	paths, err := filepath.Glob("testdata/*.json")
	if err != nil || len(paths) == 0 {
		t.Fatal("no recordings", err)
	}
	all := make(map[string]*Recording)
	for _, path := range paths {
		all[path] = new(Recording)
		Load(t, path, all[path])
	}
	return all
}

// Check repeats the walk of each recording and fails the test if the frames differ. It also checks that a
// walk stops when its space is full, and that it does not allocate.
func Check(t *testing.T, runtime func(*Recording, interp.Memory) interp.Runtime) {
	t.Helper()
	for path, r := range Recordings(t) {
		t.Run(filepath.Base(path), func(t *testing.T) { check(t, *r, runtime) })
	}
}

func check(t *testing.T, r Recording, runtime func(*Recording, interp.Memory) interp.Runtime) {
	t.Helper()
	frames, end := walked(runtime(&r, r.Memory), r.TID, maxDepth)
	if end != callchain.Complete || !slices.Equal(frames, r.Frames) {
		t.Errorf("%s: %v, want %v", end, frames, r.Frames)
	}
	const depth = 3
	if calls, end := runtime(&r, r.Memory).Walker(nil).Walk(make([]interp.Call, 0, depth), &interp.Thread{TID: r.TID}); end != callchain.Cut || len(calls) != depth {
		t.Errorf("%d calls in space for %d, %s", len(calls), depth, end)
	}
	w, calls, thread := runtime(&r, r.Memory).Walker(nil), make([]interp.Call, 0, maxDepth), &interp.Thread{TID: r.TID}
	if n := testing.AllocsPerRun(100, func() { w.Walk(calls, thread) }); n != 0 {
		t.Errorf("%v allocations", n)
	}
}

// Fuzz repeats the walk of each recording in damaged memory: see Damaged. No name may be longer than
// maxText bytes, and no walk may read more often than maxReads.
func Fuzz(f *testing.F, maxText, maxReads int, runtime func(*Recording, interp.Memory) interp.Runtime) {
	fuzzing.Bound(f)
	recordings := Recordings(f)
	f.Add([]byte{0, 8, 0xff})
	f.Add([]byte{0, 9, 1, 2, 33, 4})
	f.Fuzz(func(t *testing.T, damage []byte) {
		for path, r := range recordings {
			m := &Counter{Memory: Damaged(r.Memory, damage)}
			const depth = 128
			p := runtime(r, m)
			calls, _ := p.Walker(nil).Walk(make([]interp.Call, 0, depth), &interp.Thread{TID: r.TID})
			if len(calls) > depth || m.Reads > maxReads {
				t.Errorf("%s: %d calls, %d reads", path, len(calls), m.Reads)
			}
			var frames []interp.Frame
			for _, c := range calls {
				frames, _ = p.Frames(frames, c)
			}
			if n := Longest(frames); n > maxText {
				t.Errorf("%s: a name of %d bytes", path, n)
			}
		}
	})
}
