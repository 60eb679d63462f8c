package memleak_test

import (
	"testing"

	"github.com/ringtap/ringtap/internal/collect/allocator"
	"github.com/ringtap/ringtap/internal/collect/memleak"
	"github.com/ringtap/ringtap/internal/engine/capture"
	"github.com/ringtap/ringtap/internal/stack"
	"github.com/ringtap/ringtap/internal/testkit/livetest"
)

// The program keeps 30 times 100 bytes, and frees all else.
func TestACaptureShowsWhatIsKept(t *testing.T) {
	source := capture.Open(t, "memleak")
	var sources []*allocator.Source
	for _, s := range source.Sources(t) {
		one := &allocator.Source{Source: s, AtEntry: true}
		for _, name := range []string{"malloc", "free"} {
			address, _ := source.Place(t, name)
			one.Place(address, allocator.Named(name))
		}
		sources = append(sources, one)
	}
	c := memleak.New(sources, stack.Stacks{User: true, Unwind: stack.Auto}, memleak.Options{})
	defer c.Close()
	c.Ended = true
	_, result := livetest.Replay(t, source, c, 0)
	stacks := livetest.ByStack(result.Whole)
	if kept := stacks["_start;begin;keeps;malloc"]; len(stacks) != 1 || kept == nil || kept[0] != 30*100 || kept[1] != 30 {
		t.Errorf("kept %v, want 3000 bytes of 30 calls in keeps", stacks)
	}
	if m := c.Missed(); m != (memleak.Misses{}) {
		t.Errorf("missed %+v", m)
	}
}
