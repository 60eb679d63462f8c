package exacttext

import "sync/atomic"

// keptValues are what hits keep for later hits of their threads, which may be on other CPUs. A
// thread's value may be lost to another one's; who asks gets 0 then.
type keptValues struct {
	slots [][]keptValue // by slot, and by the lowest bits of the thread's id
}

type keptValue struct {
	tid   atomic.Uint32
	value atomic.Uint64
}

// keptThreads is how many threads a slot has room for, a power of two.
const keptThreads = 1 << 12

// makeRoom makes the slots that are wanted, before there are hits.
func (k *keptValues) makeRoom(all []wanted) {
	for _, w := range all {
		for _, keep := range w.Keeps {
			for len(k.slots) < keep.Slot {
				k.slots = append(k.slots, make([]keptValue, keptThreads))
			}
		}
	}
}

func (k *keptValues) keep(slot int, tid uint32, value uint64) {
	at := &k.slots[slot-1][tid%keptThreads]
	at.tid.Store(tid)
	at.value.Store(value)
}

// of returns a thread's value, or 0.
func (k *keptValues) of(slot int, tid uint32) uint64 {
	if slot > len(k.slots) {
		return 0
	}
	at := &k.slots[slot-1][tid%keptThreads]
	value := at.value.Load()
	if at.tid.Load() != tid {
		return 0
	}
	return value
}
