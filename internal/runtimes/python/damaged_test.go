package python

import (
	"math"
	"path/filepath"
	"slices"
	"strconv"
	"testing"

	"github.com/ringtap/ringtap/callchain"
	"github.com/ringtap/ringtap/internal/runtimes/interp"
	"github.com/ringtap/ringtap/internal/testkit/fuzzing"
	"github.com/ringtap/ringtap/internal/testkit/interptest"
)

var record = interptest.RecordFlag()

// recorded is a walk as it was recorded, and what it found.
type recorded struct {
	Minor   int
	Head    uint64
	Code    uint64
	TID     int
	Place   uint64 // of a thread's id
	Offsets []byte `json:",omitempty"` // _Py_DebugOffsets
	Memory  interp.Image
	Frames  []interp.Frame
}

// runtime is a CPython in the memory.
func (r *recorded) runtime(m interp.Memory) *python {
	p := &python{memory: m, minor: r.Minor, head: r.Head, code: r.Code, tid: r.Place, libc: true, codes: make(map[uint64]*code)}
	if r.Minor < described {
		p.layout = layoutOf(r.Minor)
	} else {
		o, _ := parseOffsets(r.Offsets, r.Minor)
		p.layout, _ = o.layout(r.Minor)
	}
	return p
}

func recordings(t testing.TB) (all []*recorded) {
	t.Helper()
	paths, err := filepath.Glob("testdata/*.json")
	if err != nil || len(paths) == 0 {
		t.Fatal("no recordings", err)
	}
	for _, path := range paths {
		r := new(recorded)
		interptest.Load(t, path, r)
		all = append(all, r)
	}
	return all
}

// walked walks and resolves.
func walked(p *python, tid, depth int) (frames []interp.Frame, end callchain.End) {
	calls, end := p.Walker(nil).Walk(make([]interp.Call, 0, depth), &interp.Thread{TID: tid})
	for _, c := range calls {
		frames, _ = p.Frames(frames, c)
	}
	return frames, end
}

func TestARecordedChainIsFoundAgain(t *testing.T) {
	for _, r := range recordings(t) {
		frames, end := walked(r.runtime(r.Memory), r.TID, maxDepth)
		if end != callchain.Complete || !slices.Equal(frames, r.Frames) {
			t.Errorf("3.%d: %s, got %q, want %q", r.Minor, end, lines(frames), lines(r.Frames))
		}
	}
}

// A chain of a greater length than there is space for is cut.
func TestAChainIsCutWhereThereIsNoMoreSpace(t *testing.T) {
	for _, r := range recordings(t) {
		const depth = 3
		frames, end := walked(r.runtime(r.Memory), r.TID, depth)
		if end != callchain.Cut || !slices.Equal(frames, r.Frames[:depth]) {
			t.Errorf("3.%d: %s, %q", r.Minor, end, lines(frames))
		}
	}
}

func TestAWalkAllocatesNothing(t *testing.T) {
	for _, r := range recordings(t) {
		w, calls, thread := r.runtime(r.Memory).Walker(nil), make([]interp.Call, 0, maxDepth), &interp.Thread{TID: r.TID}
		if n := testing.AllocsPerRun(100, func() { w.Walk(calls, thread) }); n != 0 {
			t.Errorf("3.%d: %v allocations", r.Minor, n)
		}
	}
}

// FuzzDamagedMemory walks in memory of which some bytes and pointers are others.
func FuzzDamagedMemory(f *testing.F) {
	fuzzing.Bound(f)
	all := recordings(f)
	for i := range all {
		f.Add(byte(i), []byte{0, 8, 0xff})
		f.Add(byte(i), []byte{0, 9, 1, 2, 33, 4})
	}
	f.Fuzz(func(t *testing.T, i byte, damage []byte) {
		r := all[int(i)%len(all)]
		m := &interptest.Counter{Memory: interptest.Damaged(r.Memory, damage)}
		const depth = 128
		frames, _ := walked(r.runtime(m), r.TID, depth)
		if len(frames) > depth || interptest.Longest(frames) > 2*4*maxText || m.Reads > 3*maxThreads+20*depth {
			t.Errorf("%d frames, a name of %d bytes, %d reads", len(frames), interptest.Longest(frames), m.Reads)
		}
	})
}

// TestRecordImages writes the recordings anew, with -record.
func TestRecordImages(t *testing.T) {
	if !*record {
		t.Skip("only with -record")
	}
	for _, path := range pythons(t) {
		p := start(t, path, "testdata/chains.py", "0", "1")
		r := p.runtime
		memory := interptest.NewRecorder(r.memory)
		to := &recorded{Minor: r.minor, Head: r.head, Code: r.code, Place: r.tid, TID: p.pid}
		if r.minor >= described {
			to.Offsets = make([]byte, offsetsSize(r.minor))
			memory.Memory.Read(r.head-r.interpreters, to.Offsets)
		}
		var end callchain.End
		if to.Frames, end = walked(to.runtime(memory), p.pid, maxDepth); end != callchain.Complete {
			t.Fatal(end)
		}
		to.Memory = memory.Image()
		name := "testdata/3." + strconv.Itoa(r.minor)
		if r.frameCopy != 0 {
			name += "t"
		}
		interptest.Save(t, name+".json", to)
	}
}

// failing is memory of which nothing can be read after so many times.
type failing struct {
	interp.Memory
	left int
}

func (m *failing) Read(addr uint64, b []byte) bool {
	m.left--
	return m.left >= 0 && m.Memory.Read(addr, b)
}

// What a walk could not read, because its time was over, the next one reads.
func TestAWalkIsWholeAfterOneThatCouldNotReadAll(t *testing.T) {
	for _, r := range recordings(t) {
		p, thread := r.runtime(r.Memory), &interp.Thread{TID: r.TID}
		for reads, isCut := 0, true; isCut; reads++ {
			memory := &failing{r.Memory, reads}
			w := p.Walker(memory)
			w.Walk(make([]interp.Call, 0, maxDepth), thread)
			isCut, memory.left = memory.left < 0, math.MaxInt
			calls, end := w.Walk(make([]interp.Call, 0, maxDepth), thread)
			var frames []interp.Frame
			for _, c := range calls {
				frames, _ = p.Frames(frames, c)
			}
			if end != callchain.Complete || !slices.Equal(frames, r.Frames) {
				t.Errorf("3.%d after %d reads: %s, got %q, want %q", r.Minor, reads, end, lines(frames), lines(r.Frames))
			}
		}
	}
}
