package interptest

import (
	"flag"
	"path/filepath"
	"slices"
	"testing"

	"github.com/ringtap/ringtap/callchain"
	"github.com/ringtap/ringtap/internal/fuzzing"
	"github.com/ringtap/ringtap/internal/interp"
)

// Recording is a walk as it was recorded: what it read, and what it found.
type Recording struct {
	TID     int
	Numbers map[string]uint64 // what attaching had found out
	Memory  interp.Image
	Frames  []interp.Frame
}

// RecordFlag is whether recordings are to be made anew.
func RecordFlag() *bool { return flag.Bool("record", false, "write the recordings of testdata anew") }

// MaxDepth is more calls than any chain of a test has.
const MaxDepth = 4096

// Walked walks and names what it finds.
func Walked(r interp.Runtime, tid, depth int) (frames []interp.Frame, end callchain.End) {
	calls, end := r.Walker(nil).Walk(make([]interp.Call, 0, depth), &interp.Thread{TID: tid})
	for _, c := range calls {
		frames, _ = r.Frames(frames, c)
	}
	return frames, end
}

// Record writes a recording of a walk in a process's memory.
func Record(t testing.TB, path string, m interp.Memory, tid int, numbers map[string]uint64, runtime func(interp.Memory) interp.Runtime) {
	t.Helper()
	recorder := NewRecorder(m)
	r := &Recording{TID: tid, Numbers: numbers}
	var end callchain.End
	if r.Frames, end = Walked(runtime(recorder), tid, MaxDepth); end != callchain.Complete {
		t.Fatalf("the chain is %s", end)
	}
	r.Memory = recorder.Image()
	Save(t, path, r)
}

// Recordings are those of testdata, by their files' names.
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

// Check walks in the recordings again.
func Check(t *testing.T, runtime func(*Recording, interp.Memory) interp.Runtime) {
	t.Helper()
	for path, r := range Recordings(t) {
		t.Run(filepath.Base(path), func(t *testing.T) { check(t, *r, runtime) })
	}
}

func check(t *testing.T, r Recording, runtime func(*Recording, interp.Memory) interp.Runtime) {
	t.Helper()
	frames, end := Walked(runtime(&r, r.Memory), r.TID, MaxDepth)
	if end != callchain.Complete || !slices.Equal(frames, r.Frames) {
		t.Errorf("%s: %v, want %v", end, frames, r.Frames)
	}
	const depth = 3
	if calls, end := runtime(&r, r.Memory).Walker(nil).Walk(make([]interp.Call, 0, depth), &interp.Thread{TID: r.TID}); end != callchain.Cut || len(calls) != depth {
		t.Errorf("%d calls in space for %d, %s", len(calls), depth, end)
	}
	w, calls, thread := runtime(&r, r.Memory).Walker(nil), make([]interp.Call, 0, MaxDepth), &interp.Thread{TID: r.TID}
	if n := testing.AllocsPerRun(100, func() { w.Walk(calls, thread) }); n != 0 {
		t.Errorf("%v allocations", n)
	}
}

// Fuzz walks in the recordings, of which some bytes and pointers are others. No name may be
// longer than maxText bytes, and no walk read more often than maxReads.
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
