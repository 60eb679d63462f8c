package ruby

import (
	"testing"

	"github.com/ringtap/ringtap/internal/interp"
	"github.com/ringtap/ringtap/internal/interp/interptest"
)

const recording = "testdata/chain.json"

var record = interptest.RecordFlag()

func recorded(r *interptest.Recording, m interp.Memory) interp.Runtime {
	return &ruby{memory: m, head: r.Numbers["head"], tid: r.Numbers["tid"], known: make(map[uint64]*method)}
}

func TestARecordedChainIsFoundAgain(t *testing.T) { interptest.Check(t, recording, recorded) }

func FuzzDamagedMemory(f *testing.F) {
	interptest.Fuzz(f, recording, 4*maxText, 2*(maxThreads+maxFrames), recorded)
}

func TestRecordImages(t *testing.T) {
	if !*record {
		t.Skip("only with -record")
	}
	pid, truth, r := start(t, 1)
	p := r.(*ruby)
	longest := pid
	for tid, chain := range truth {
		if len(chain) > len(truth[longest]) {
			longest = tid
		}
	}
	numbers := map[string]uint64{"head": p.head, "tid": p.tid}
	interptest.Record(t, recording, p.memory, longest, numbers, func(m interp.Memory) interp.Runtime {
		return recorded(&interptest.Recording{TID: longest, Numbers: numbers}, m)
	})
}
