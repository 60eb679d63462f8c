package io

import (
	"testing"

	"golang.org/x/sys/unix"

	"github.com/ringtap/ringtap/ftrace"
	"github.com/ringtap/ringtap/internal/process"
	"github.com/ringtap/ringtap/internal/stack"
	"github.com/ringtap/ringtap/internal/testkit/livetest"
	"github.com/ringtap/ringtap/internal/testkit/tabletest"
)

func TestALongCallKeepsItsStackThroughOtherWindows(t *testing.T) {
	enter := tabletest.Format("id", "args")
	enter.Fields[1] = ftrace.Field{Name: "args", Offset: 8, Size: 48}
	c, err := New(process.Host{}, Formats{Enter: enter, Exit: tabletest.Format("id", "ret")}, ByNothing, stack.Stacks{Kernel: true})
	if err != nil {
		t.Fatal(err)
	}
	r := livetest.NewRecorder(t, c)
	handle := r.Sample
	const read = unix.SYS_READ
	handle(ioEnter, 6, 3, 0x1000, read, 0, 0, 10, 0, 0, 0)
	handle(ioEnter, 5, 4, 0xabc, read, 0, 0, 10, 0, 0, 0)
	handle(ioExit, 6, 5, 0, read, 1)
	for at := uint64(110); at < 400; at += 10 {
		handle(ioEnter, 6, at, 0x2000+at, read, 0, 0, 10, 0, 0, 0) // other stacks take the places of those that are gone
		handle(ioExit, 6, at+5, 0, read, 1)
	}
	handle(ioExit, 5, 404, 0, read, 7)
	last := r.Finish(500)
	if len(last.Rows) != 1 || last.Rows[0].Values[ioSize] != 7 {
		t.Fatalf("rows %v, want that of the long call", last.Rows)
	}
	if frames := last.Stacks[last.Rows[0].Kernel].Frames; frames[0].Offset != 0xabc {
		t.Errorf("the call's stack is %v, want the one that it began with", frames)
	}
}
