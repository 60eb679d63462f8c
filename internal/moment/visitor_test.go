package moment

import (
	"testing"

	"github.com/ringtap/ringtap/callchain"
	"github.com/ringtap/ringtap/internal/interp"
	"github.com/ringtap/ringtap/perfevent"
	"github.com/ringtap/ringtap/perfevent/near"
)

// careless is a walker that goes on when a read fails because the time is over.
type careless struct{ memory *visitMemory }

func (c careless) Walk(dst []interp.Call, _ *interp.Thread) ([]interp.Call, callchain.End) {
	c.memory.err = near.ErrTime
	return append(dst, interp.Call{Code: 1}), callchain.Complete
}

func TestAVisitThatTakesTooLongHasNoCallsForSure(t *testing.T) {
	v := &visitor{calls: make([]interp.Call, 0, 8)}
	v.ahead = interp.NewAhead(&v.memory)
	visit := &near.Visit{Sample: &perfevent.Sample{Header: perfevent.Header{TID: 1}}}
	if err := v.walk(visit, &watched{walkers: []walker{{1, careless{&v.memory}}}}); err != near.ErrTime {
		t.Errorf("the error is %v, want %v", err, near.ErrTime)
	}
}
