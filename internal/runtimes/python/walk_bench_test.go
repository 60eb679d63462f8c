package python

import (
	"fmt"
	"testing"

	"github.com/ringtap/ringtap/callchain"
	"github.com/ringtap/ringtap/internal/runtimes/interp"
)

// Walks of a thread that stands still so many calls deep, in turn in so many functions.
func BenchmarkLiveWalk(b *testing.B) {
	for _, path := range pythons(b) {
		for _, of := range []struct{ calls, functions int }{{11, 2}, {40, 40}, {400, 40}} {
			t := start(b, path, "testdata/deep.py", fmt.Sprint(of.calls), fmt.Sprint(of.functions))
			memory := interp.NewAhead(interp.Live(t.pid))
			w, room := t.runtime.Walker(memory), make([]interp.Call, 0, maxDepth)
			b.Run(fmt.Sprintf("%s/%d calls of %d functions", t.runtime.Name(), of.calls, of.functions), func(b *testing.B) {
				b.ReportAllocs()
				for b.Loop() {
					memory.Begin(t.pid)
					if calls, end := w.Walk(room, &interp.Thread{TID: t.pid}); end != callchain.Complete || len(calls) < of.calls {
						b.Fatal(len(calls), end)
					}
				}
			})
		}
	}
}
