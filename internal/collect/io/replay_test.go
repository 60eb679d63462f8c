package io_test

import (
	"testing"

	"github.com/ringtap/ringtap/internal/collect/io"
	"github.com/ringtap/ringtap/internal/engine/capture"
	"github.com/ringtap/ringtap/internal/stack"
	"github.com/ringtap/ringtap/internal/testkit/livetest"
)

// The program writes 20 times 1000 bytes, and fails 3 times.
func TestACaptureShowsWhatWasWritten(t *testing.T) {
	source := capture.Open(t, "io")
	c, err := io.New(source.Host(), io.Formats{Enter: source.Format(t, 0), Exit: source.Format(t, 1)}, io.ByNothing, stack.Stacks{User: true, Unwind: stack.Auto})
	if err != nil {
		t.Fatal(err)
	}
	_, result := livetest.Replay(t, source, c, 0)
	stacks := livetest.ByStack(result.Whole)
	if w := stacks["_start;begin;writes"]; w == nil || w[0] != 20*1000 || w[3] != 3 || w[2] == 0 {
		t.Errorf("wrote %v, want 20000 bytes and 3 errors", stacks)
	}
}
