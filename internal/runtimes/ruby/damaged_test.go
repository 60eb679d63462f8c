package ruby

import (
	"fmt"
	"testing"

	"github.com/ringtap/ringtap/callchain"
	"github.com/ringtap/ringtap/internal/runtimes/interp"
	"github.com/ringtap/ringtap/internal/testkit/interptest"
)

var record = interptest.RecordFlag()

func recorded(r *interptest.Recording, m interp.Memory) interp.Runtime {
	n := r.Numbers
	l, _ := layoutOf(int(n["major"]), int(n["minor"]), int(n["patch"]), callchain.AMD64)
	return &ruby{memory: m, head: n["head"], tid: n["tid"], pid: int(n["pid"]), layout: l, known: make(map[callee]*method)}
}

func TestARecordedChainIsFoundAgain(t *testing.T) { interptest.Check(t, recorded) }

func FuzzDamagedMemory(f *testing.F) {
	interptest.Fuzz(f, 4*maxText, maxReads, recorded)
}

// maxReads is how often a walk reads at most: three times for a thread, and for a call's frame, its
// environment, and those that it is in with what they have.
const maxReads = 3*maxThreads + maxRactors + (2+2*maxNested)*maxFrames

func TestRecordImages(t *testing.T) {
	if !*record {
		t.Skip("only with -record")
	}
	for _, path := range interptest.Installed("ruby") {
		pid, truth, r := start(t, path, 1)
		p := r.(*ruby)
		longest := pid
		for tid, chain := range truth {
			if len(chain) > len(truth[longest]) {
				longest = tid
			}
		}
		var major, minor, patch int
		if _, err := fmt.Sscanf(p.name, "Ruby %d.%d.%d", &major, &minor, &patch); err != nil {
			t.Fatal(err)
		}
		numbers := map[string]uint64{"head": p.head, "tid": p.tid, "pid": uint64(p.pid), "major": uint64(major), "minor": uint64(minor), "patch": uint64(patch)}
		interptest.Record(t, fmt.Sprintf("testdata/%d.%d.json", major, minor), p.memory, longest, numbers, func(m interp.Memory) interp.Runtime {
			return recorded(&interptest.Recording{TID: longest, Numbers: numbers}, m)
		})
	}
}
