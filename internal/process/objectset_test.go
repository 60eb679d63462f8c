package process

import (
	"math/rand/v2"
	"runtime"
	"testing"

	"github.com/ringtap/ringtap/callchain"
)

func TestAnObjectSetHasWhatWasAdded(t *testing.T) {
	random := rand.New(rand.NewPCG(1, 2))
	var s objectSet
	want := make(map[callchain.ObjectID]bool)
	for range 10_000 {
		id := callchain.ObjectID(random.Uint32N(1 << 16))
		if random.IntN(3) == 0 {
			id += 1 << 24
		}
		if s.has(id) != want[id] {
			t.Fatalf("%d is in the set: %v", id, !want[id])
		}
		if random.IntN(2) == 0 {
			s.add(id)
			want[id] = true
		}
	}
}

// A sweep costs what is there, however many objects there were before.
func TestASweepDoesNotGrowWithTheObjectsThatHaveEnded(t *testing.T) {
	table := NewTable(Options{Host: Host{Proc: t.TempDir()}})
	defer table.Close()
	table.Hold(func(hold func(callchain.ObjectID)) {
		hold(table.last - 1)
		hold(table.last)
		hold(^callchain.ObjectID(0)) // labels are not objects
	})
	bytes := func(objects callchain.ObjectID) uint64 {
		table.last = objects
		var before, after runtime.MemStats
		runtime.ReadMemStats(&before)
		held := table.heldObjects()
		runtime.ReadMemStats(&after)
		if !held.has(objects) || held.has(objects-2) {
			t.Error("the objects that are held are not known")
		}
		return after.TotalAlloc - before.TotalAlloc
	}
	few, many := bytes(2*blockObjects+100), bytes(100_000_000+100)
	if many > few+1<<16 {
		t.Errorf("%d bytes after 100,000,000 objects, %d after some", many, few)
	}
}

func BenchmarkObjectSet(b *testing.B) {
	var s objectSet
	for id := range callchain.ObjectID(1000) {
		s.add(id * 7)
	}
	for i := range b.N {
		s.add(callchain.ObjectID(i % 7000))
	}
}
