package php

import (
	"testing"

	"github.com/ringtap/ringtap/internal/interp"
	"github.com/ringtap/ringtap/internal/interp/interptest"
)

const recording = "testdata/chain.json"

var record = interptest.RecordFlag()

func recorded(r *interptest.Recording, m interp.Memory) interp.Runtime {
	return &php{memory: m, tid: r.TID, head: r.Numbers["head"], file: r.Numbers["file"], known: make(map[uint64]*function)}
}

func TestARecordedChainIsFoundAgain(t *testing.T) { interptest.Check(t, recording, recorded) }

func FuzzDamagedMemory(f *testing.F) { interptest.Fuzz(f, recording, 4*maxText, 1000, recorded) }

func TestRecordImages(t *testing.T) {
	if !*record {
		t.Skip("only with -record")
	}
	pid, _, r := start(t, 1)
	p := r.(*php)
	numbers := map[string]uint64{"head": p.head, "file": p.file}
	interptest.Record(t, recording, p.memory, pid, numbers, func(m interp.Memory) interp.Runtime {
		return recorded(&interptest.Recording{TID: pid, Numbers: numbers}, m)
	})
}
