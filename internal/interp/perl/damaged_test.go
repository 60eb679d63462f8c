package perl

import (
	"testing"

	"github.com/ringtap/ringtap/internal/interp"
	"github.com/ringtap/ringtap/internal/interp/interptest"
)

const recording = "testdata/chain.json"

var record = interptest.RecordFlag()

func recorded(r *interptest.Recording, m interp.Memory) interp.Runtime {
	n := r.Numbers
	return &perl{memory: m, tid: r.TID, head: n["head"], layout: layoutOf(int(n["minor"])), names: make(map[uint64]*function),
		ops: ops{uint32(n["null"]), uint32(n["nextstate"]), uint32(n["scope"])}}
}

func TestARecordedChainIsFoundAgain(t *testing.T) { interptest.Check(t, recording, recorded) }

func FuzzDamagedMemory(f *testing.F) { interptest.Fuzz(f, recording, 4*maxText, 3*maxSteps, recorded) }

func TestRecordImages(t *testing.T) {
	if !*record {
		t.Skip("only with -record")
	}
	pid, _, r := start(t, 1)
	p := r.(*perl)
	numbers := map[string]uint64{"head": p.head, "minor": 36, "null": uint64(p.null), "nextstate": uint64(p.nextstate), "scope": uint64(p.scope)}
	interptest.Record(t, recording, p.memory, pid, numbers, func(m interp.Memory) interp.Runtime {
		return recorded(&interptest.Recording{TID: pid, Numbers: numbers}, m)
	})
}
