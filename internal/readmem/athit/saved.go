package athit

import "sync/atomic"

// savedPointers has the pointers that hits save for later hits of their threads, which may be on other CPUs. Threads
// whose IDs have the same lowest bits share a place, so a pointer may be lost.
type savedPointers struct {
	slots [][]savedPointer // by slot, and by the lowest bits of the thread's id
}

type savedPointer struct {
	tid   atomic.Uint32
	value atomic.Uint64
}

// savedThreads is how many threads a slot has room for, a power of two.
const savedThreads = 1 << 12

// makeRoom allocates the slots of events, before there are hits.
func (p *savedPointers) makeRoom(events []Event) {
	for _, event := range events {
		for _, save := range event.Saves {
			for len(p.slots) < save.Saved {
				p.slots = append(p.slots, make([]savedPointer, savedThreads))
			}
		}
	}
}

func (p *savedPointers) save(slot int, tid uint32, value uint64) {
	place := &p.slots[slot-1][tid%savedThreads]
	place.tid.Store(tid)
	place.value.Store(value)
}

// of returns the pointer that a thread has saved in a slot, or 0.
func (p *savedPointers) of(slot int, tid uint32) uint64 {
	if slot > len(p.slots) {
		return 0
	}
	place := &p.slots[slot-1][tid%savedThreads]
	value := place.value.Load()
	if place.tid.Load() != tid {
		return 0
	}
	return value
}
