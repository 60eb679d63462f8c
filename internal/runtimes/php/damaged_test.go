package php

import (
	"strings"
	"testing"

	"github.com/ringtap/ringtap/internal/runtimes/interp"
	"github.com/ringtap/ringtap/internal/testkit/interptest"
)

var record = interptest.RecordFlag()

func recorded(r *interptest.Recording, m interp.Memory) interp.Runtime {
	return &php{memory: m, tid: r.TID, head: r.Numbers["head"], file: r.Numbers["file"], known: make(map[uint64]*function)}
}

func TestARecordedChainIsFoundAgain(t *testing.T) { interptest.Check(t, recorded) }

func FuzzDamagedMemory(f *testing.F) { interptest.Fuzz(f, 4*maxText, 1000, recorded) }

func TestRecordImages(t *testing.T) {
	if !*record {
		t.Skip("only with -record")
	}
	for _, path := range interptest.Installed("php") {
		pid, _, r := start(t, path, 1)
		p := r.(*php)
		release := strings.Join(strings.Split(strings.TrimPrefix(p.name, "PHP "), ".")[:2], ".")
		numbers := map[string]uint64{"head": p.head, "file": p.file}
		interptest.Record(t, "testdata/"+release+".json", p.memory, pid, numbers, func(m interp.Memory) interp.Runtime {
			return recorded(&interptest.Recording{TID: pid, Numbers: numbers}, m)
		})
	}
}
