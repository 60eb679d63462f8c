package trace

import (
	"encoding/binary"
	"testing"

	"github.com/ringtap/ringtap/ftrace"
	"github.com/ringtap/ringtap/internal/probe"
	"github.com/ringtap/ringtap/perfevent"
)

func TestHitsInTheKernelAreNamedByTheirAddress(t *testing.T) {
	const read, write = 0xffffffff81000000, 0xffffffff81000100
	event := &probe.Source{Format: ftrace.UprobeFormat("kprobes", "vfs_read", false),
		Places: map[uint64]probe.PlaceName{read: {Event: "vfs_read"}, write: {Event: "vfs_write"}}}
	p := newPlaces(event)
	if p.inFiles() {
		t.Error("the mappings of processes are wanted for places in the kernel")
	}
	for addr, want := range map[uint64]string{
		read: "vfs_read", write: "vfs_write",
		write + landingPad: "vfs_write", // behind endbr64
		write + 5:          "vfs_read",  // another one: the event's own name
	} {
		sample := &perfevent.Sample{Raw: make([]byte, 20)}
		binary.LittleEndian.PutUint64(sample.Raw[8:], addr)
		if got := p.format(nil, sample, event.Format).Name; got != want {
			t.Errorf("at %#x is %s, want %s", addr, got, want)
		}
	}
	if got := p.format(nil, &perfevent.Sample{Raw: make([]byte, 8)}, event.Format); got != event.Format {
		t.Error("a record without an address has a name")
	}
}
