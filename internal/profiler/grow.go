package profiler

import (
	"errors"

	"github.com/ringtap/ringtap/internal/collect"
	"github.com/ringtap/ringtap/perfevent"
)

// growth has the copies of the stack grow where chains come out cut. Where every
// event is a sample, a run begins with small ones: what is copied is most of what
// a hit costs the program. One that samples by time begins with large ones.
type growth struct {
	bytes  uint32 // of a copy; 0 when it is not to grow any more
	counts collect.Counts
	settle uint64 // until when records of a smaller copy may come
}

// sizes are the copies that are grown to, in bytes. Most stacks end in the first
// few kilobytes, and there a hit costs by the byte.
var sizes = [...]uint32{512, 768, 1 << 10, 1536, 2 << 10, 4 << 10, 8 << 10, 16 << 10, 32 << 10}

// larger is the size after the given one; false if there is none.
func larger(bytes uint32) (uint32, bool) {
	for _, size := range sizes {
		if size > bytes {
			return size, true
		}
	}
	return 0, false
}

// settling is how long records with the smaller copy are on their way, in
// nanoseconds.
const settling = 1e9

// cutShare is the share of samples, one of so many, that may be cut.
const cutShare = 100

func newGrowth(plan *collect.Plan) growth {
	for i := range plan.Samplings {
		if plan.Samplings[i].Period != 1 || plan.Stacks.Unwind == collect.FP {
			return growth{}
		}
	}
	return growth{bytes: plan.Stacks.Copy}
}

// grow makes the copies of all samplings larger if many of the samples since the
// last call, whose times are before the one given, were cut.
func (r *run) grow(before uint64) {
	g := &r.growth
	next, ok := larger(g.bytes)
	if g.bytes == 0 || !ok {
		return
	}
	now := r.recorder.Counts()
	if before < g.settle {
		g.counts = now
		return
	}
	samples, cut := now.Samples-g.counts.Samples, now.Truncated-g.counts.Truncated
	g.counts = now
	if cut*cutShare <= samples {
		return
	}
	for i := range r.plan.Samplings {
		err := r.session.GrowStack(i, next)
		if errors.Is(err, perfevent.ErrGrowing) {
			return // the samples of the next round will say it again
		}
		if err != nil {
			r.opts.Logger.Warn("stacks stay cut", "bytes", g.bytes, "error", err)
			g.bytes = 0
			return
		}
	}
	r.opts.Logger.Info("copying more of the stack", "bytes", next, "cut", cut, "samples", samples)
	g.bytes, g.settle = next, before+settling
}
