package perl

import (
	"fmt"
	"testing"

	"github.com/ringtap/ringtap/internal/runtimes/interp"
	"github.com/ringtap/ringtap/internal/testkit/interptest"
)

var record = interptest.RecordFlag()

func recorded(r *interptest.Recording, m interp.Memory) interp.Runtime {
	n := r.Numbers
	return &perl{memory: m, tid: r.TID, head: n["head"], layout: layoutOf(int(n["minor"])), names: make(map[uint64]*function),
		ops: ops{uint32(n["null"]), uint32(n["nextstate"]), uint32(n["scope"])}}
}

func TestARecordedChainIsFoundAgain(t *testing.T) { interptest.Check(t, recorded) }

func FuzzDamagedMemory(f *testing.F) { interptest.Fuzz(f, 4*maxText, 3*maxSteps, recorded) }

func TestRecordImages(t *testing.T) {
	if !*record {
		t.Skip("only with -record")
	}
	for _, path := range interptest.Installed("perl") {
		pid, _, r := start(t, path, 1)
		p := r.(*perl)
		var minor uint64
		if _, err := fmt.Sscanf(p.name, "Perl 5.%d.", &minor); err != nil {
			t.Fatal(err)
		}
		numbers := map[string]uint64{"head": p.head, "minor": minor, "null": uint64(p.null), "nextstate": uint64(p.nextstate), "scope": uint64(p.scope)}
		interptest.Record(t, fmt.Sprintf("testdata/5.%d.json", minor), p.memory, pid, numbers, func(m interp.Memory) interp.Runtime {
			return recorded(&interptest.Recording{TID: pid, Numbers: numbers}, m)
		})
	}
}
