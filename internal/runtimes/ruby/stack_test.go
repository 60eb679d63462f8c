package ruby

import (
	"path/filepath"
	"slices"
	"testing"

	"github.com/ringtap/ringtap/internal/runtimes/interp"
	"github.com/ringtap/ringtap/internal/testkit/interptest"
)

// brief is memory of which only little can be read at a time, as what lies beside it is not there.
type brief struct{ interp.Memory }

func (m brief) Read(addr uint64, b []byte) bool {
	return len(b) <= maxThread && m.Memory.Read(addr, b)
}

func TestManyFramesAreReadTogetherAndEachAloneWhereThatFails(t *testing.T) {
	for path, r := range interptest.Recordings(t) {
		t.Run(filepath.Base(path), func(t *testing.T) { manyOrAlone(t, r) })
	}
}

func manyOrAlone(t *testing.T, r *interptest.Recording) {
	t.Helper()
	walk := func(m interp.Memory) (calls []interp.Call, reads int) {
		c := &interptest.Counter{Memory: m}
		calls, _ = recorded(r, c).Walker(nil).Walk(make([]interp.Call, 0, 128), &interp.Thread{TID: r.TID})
		return calls, c.Reads
	}
	calls, reads := walk(r.Memory)
	alone, more := walk(brief{r.Memory})
	if len(calls) == 0 || !slices.Equal(calls, alone) {
		t.Errorf("the calls are %v, read one by one %v", calls, alone)
	}
	if reads+len(calls) > more {
		t.Errorf("%d reads, and one by one %d, for %d calls", reads, more, len(calls))
	}
}
