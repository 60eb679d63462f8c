package stack

import (
	"os"
	"testing"

	"github.com/ringtap/ringtap/callchain"
	"github.com/ringtap/ringtap/internal/process"
	"github.com/ringtap/ringtap/internal/readmem/atsample"
	"github.com/ringtap/ringtap/internal/runtimes/interp"
	"github.com/ringtap/ringtap/perfevent"
)

// crossedReader has the crossings of the last call of FollowSwitches.
type crossedReader struct{ crossings []callchain.Crossing }

func (c *crossedReader) FollowSwitches(_ *process.Process, crossings []callchain.Crossing, _ *atsample.Calls) {
	c.crossings = crossings
}
func (c *crossedReader) Watch(*process.Process, []*interp.Namer)          {}
func (c *crossedReader) ReadDeepStacks(*process.Process, *atsample.Calls) {}
func (c *crossedReader) MarkEnd(*process.Process, uint64)                 {}
func (c *crossedReader) MarkDead(*process.Process, uint64, uint64)        {}
func (c *crossedReader) At(*perfevent.Sample) (none atsample.Calls)       { return none }

// The test's own program is one in Go, and so has runtime.asmcgocall.
func TestTheCrossingsOfAStackAreLookedForOnce(t *testing.T) {
	processes := process.NewTable(process.Options{Unwind: true})
	t.Cleanup(processes.Close)
	p := processes.Process(os.Getpid())
	program, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	var text process.Mapped
	for m := range p.Mapped {
		if m.Object.Path == program {
			text = m
		}
	}
	const file = 1 << 40 // an address of another file, which no frame is in
	processes.Handle(&perfevent.Mmap{Header: perfevent.Header{Time: 1 << 62}, PID: uint32(p.PID), TID: uint32(p.PID),
		Addr: file, Len: 4096, Prot: 5, Inode: 1, Filename: []byte("/file")})
	m, ok := p.Find(text.Start)
	if !ok {
		t.Fatal("the program's code is not known")
	}
	store, reader := NewStore(processes, nil), &crossedReader{}
	store.ReadAtSamples(reader)
	intern := func(offset uint64) *User {
		id, _ := store.Frames([]callchain.Frame{{Object: m.Object, Offset: text.Offset + offset}}, false)
		return &User{Kept: true, ID: id}
	}
	user := intern(0)
	store.cross(p, user, &unread)
	if len(reader.crossings) == 0 {
		t.Error("the program has no crossings")
	}
	for _, c := range reader.crossings {
		if at, ok := p.Find(c.Start); !ok || at.Object != m.Object {
			t.Errorf("%#x is not in the program", c.Start)
		}
	}
	for m := range p.Mapped {
		if m.Start == file && m.Object.ID != callchain.Kernel {
			t.Error("a file was opened that no frame is in")
		}
	}
	if n := testing.AllocsPerRun(10, func() { store.cross(p, user, &unread) }); n > 0 {
		t.Errorf("the crossings of a known stack allocate %v times", n)
	}
	store.Sweep()
	id, _ := store.Frames([]callchain.Frame{{Object: m.Object + 1000}}, false)
	reader.crossings = nil
	if store.cross(p, &User{Kept: true, ID: id}, &unread); id != user.ID || reader.crossings != nil {
		t.Errorf("another stack, %d after %d, has crossings %+v", id, user.ID, reader.crossings)
	}
}
