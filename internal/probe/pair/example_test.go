package pair_test

import (
	"fmt"

	"github.com/ringtap/ringtap/internal/probe/pair"
)

// A function that calls itself: the time of the inner call is part of the outer's.
func Example() {
	calls := pair.New[string]()
	thread := pair.Task{ID: 4242}
	calls.Enter(thread, pair.Call[string]{Slot: 0x7f00, Start: 100, Payload: "outer"})
	calls.Enter(thread, pair.Call[string]{Slot: 0x7e00, Start: 130, Payload: "inner"})
	for _, back := range []struct{ slot, at uint64 }{{0x7e00, 150}, {0x7f00, 200}} {
		if e, ok := calls.Leave(thread, 0, back.slot, back.at); ok {
			fmt.Printf("%s: %d ns, %d of them its own\n", e.Payload, e.End-e.Start, e.Own)
		}
	}
	// Output:
	// inner: 20 ns, 20 of them its own
	// outer: 100 ns, 80 of them its own
}
