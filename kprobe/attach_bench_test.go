package kprobe

import (
	"errors"
	"testing"
	"time"

	"github.com/ringtap/ringtap/perfevent"
)

// BenchmarkLiveAThousandFunctions is how long it takes to attach a thousand
// functions, to open an event of them, to close it and to remove them.
func BenchmarkLiveAThousandFunctions(b *testing.B) {
	d, err := Parse("p:*_*_r*")
	if err != nil {
		b.Fatal(err)
	}
	p, err := Resolve(d, Options{MaxSites: 1 << 20})
	if err != nil {
		b.Skip(err)
	}
	p.Sites = p.Sites[:min(len(p.Sites), 1000)]
	for _, way := range []Method{MethodFunction, MethodKprobeEvents} {
		b.Run(string(way), func(b *testing.B) {
			var steps [4]time.Duration
			for b.Loop() {
				start := time.Now()
				step := func(i int) {
					steps[i] += time.Since(start)
					start = time.Now()
				}
				a, err := Attach(p, AttachOptions{Method: way, Target: perfevent.System(), Merge: true})
				if err != nil {
					b.Skip(err)
				}
				step(0)
				sampling := perfevent.Sampling{Event: a.Events[0], Period: 1, Filter: a.Filter}
				session, err := perfevent.Open(perfevent.System(), []perfevent.Sampling{sampling}, perfevent.Options{})
				if err != nil {
					b.Error(errors.Join(err, a.Close()))
					return
				}
				step(1)
				if err := session.Close(); err != nil {
					b.Error(err)
				}
				step(2)
				if err := a.Close(); err != nil {
					b.Error(err)
				}
				step(3)
			}
			for i, name := range []string{"attach", "open", "close", "remove"} {
				b.ReportMetric(steps[i].Seconds()/float64(b.N), name+"-s/op")
			}
		})
	}
}
