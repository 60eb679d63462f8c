package process

import (
	"bytes"

	"github.com/ringtap/ringtap/perfevent"
)

// Names knows what threads are called: from records, and from the Host for threads
// that are older than the records. It belongs to one goroutine.
type Names struct {
	host  Host
	names map[uint32][]byte
	// ended holds the last threads that have ended: the kernel traces some of
	// what a thread does after its exit record.
	ended [1024]uint32
	next  int
}

// NewNames makes the names of a host's threads.
func NewNames(host Host) *Names { return &Names{host: host, names: make(map[uint32][]byte)} }

// Snapshot reads the names of the threads of the processes, of all if there are
// none. A thread that is gone before it is read stays unknown.
func (n *Names) Snapshot(pids ...int) {
	if len(pids) == 0 {
		pids, _ = n.host.Processes() // as far as they can be listed
	}
	for _, pid := range pids {
		tids, _ := n.host.Threads(pid)
		for _, tid := range tids {
			n.Name(uint32(tid))
		}
	}
}

// Handle takes a record that may name a thread.
func (n *Names) Handle(record perfevent.Record) {
	switch r := record.(type) {
	case *perfevent.Comm:
		n.names[r.TID] = bytes.Clone(r.Name)
	case *perfevent.Fork:
		n.names[r.TID] = n.Name(r.PTID)
	case *perfevent.Exit:
		n.bury(r.TID)
	}
}

// bury forgets the thread that ended a thousand ends ago.
func (n *Names) bury(tid uint32) {
	if old := n.ended[n.next]; old != 0 {
		delete(n.names, old)
	}
	n.ended[n.next] = tid
	n.next = (n.next + 1) % len(n.ended)
}

// Forget has the names of all threads read again when they are asked for, and
// returns those that were known.
func (n *Names) Forget() map[uint32][]byte {
	known := n.names
	n.names = make(map[uint32][]byte, len(known))
	return known
}

// Name is what a thread is called, raw bytes; nil if nobody knows. The idle thread
// 0 is called "<idle>", as the kernel's trace has it.
func (n *Names) Name(tid uint32) []byte {
	name, ok := n.names[tid]
	if ok {
		return name
	}
	if tid == 0 {
		name = []byte("<idle>")
	} else if comm := n.host.Comm(int(tid)); comm != "" {
		name = []byte(comm)
	}
	n.names[tid] = name
	return name
}
