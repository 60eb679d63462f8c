package stack

import (
	"os"
	"testing"

	"github.com/ringtap/ringtap/callchain"
	"github.com/ringtap/ringtap/internal/interp"
	"github.com/ringtap/ringtap/internal/moment"
	"github.com/ringtap/ringtap/internal/process"
	"github.com/ringtap/ringtap/perfevent"
)

// crossedMoments has the crossings of the last call of Cross.
type crossedMoments struct{ crossings []callchain.Crossing }

func (c *crossedMoments) Cross(_ *process.Process, crossings []callchain.Crossing, _ *moment.Calls) {
	c.crossings = crossings
}
func (c *crossedMoments) Watch(*process.Process, []*interp.Namer)  {}
func (c *crossedMoments) Deepen(*process.Process, *moment.Calls)   {}
func (c *crossedMoments) Top(*process.Process, uint64)             {}
func (c *crossedMoments) Over(*process.Process, uint64, uint64)    {}
func (c *crossedMoments) At(*perfevent.Sample) (none moment.Calls) { return none }

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
	store, moments := NewStore(processes, nil), &crossedMoments{}
	store.Moments(moments)
	intern := func(offset uint64) *User {
		id, _ := store.Frames([]callchain.Frame{{Object: m.Object, Offset: text.Offset + offset}}, false)
		return &User{Kept: true, ID: id}
	}
	user := intern(0)
	store.cross(p, user, &unread)
	if len(moments.crossings) == 0 {
		t.Error("the program has no crossings")
	}
	for _, c := range moments.crossings {
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
	moments.crossings = nil
	if store.cross(p, &User{Kept: true, ID: id}, &unread); id != user.ID || moments.crossings != nil {
		t.Errorf("another stack, %d after %d, has crossings %+v", id, user.ID, moments.crossings)
	}
}
