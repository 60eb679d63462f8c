package process

import (
	"bytes"

	"github.com/ringtap/ringtap/perfevent"
)

// Names knows the names of threads: from records, and from the Host for threads older than the
// records. It belongs to one goroutine.
type Names struct {
	host  Host
	names map[uint32][]byte
	// ended holds the threads that ended last: the kernel traces some of a thread's activity
	// after its exit record.
	ended [1024]uint32
	next  int
}

// NewNames returns the names of a host's threads.
func NewNames(host Host) *Names { return &Names{host: host, names: make(map[uint32][]byte)} }

// Snapshot reads the names of the threads of pids, or of all processes if there are no pids. A
// thread that ends before it is read stays unknown.
func (n *Names) Snapshot(pids ...int) {
	if len(pids) == 0 {
		pids, _ = n.host.Processes() // as many as can be listed
	}
	for _, pid := range pids {
		tids, _ := n.host.Threads(pid)
		for _, tid := range tids {
			n.Name(uint32(tid))
		}
	}
}

// Handle updates the names from a record.
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

// bury forgets the thread that ended 1024 thread exits ago, and remembers tid.
func (n *Names) bury(tid uint32) {
	if old := n.ended[n.next]; old != 0 {
		delete(n.names, old)
	}
	n.ended[n.next] = tid
	n.next = (n.next + 1) % len(n.ended)
}

// Forget makes all names be read again on demand. It returns the names known so far.
func (n *Names) Forget() map[uint32][]byte {
	known := n.names
	n.names = make(map[uint32][]byte, len(known))
	return known
}

// Name returns a thread's name, as raw bytes, or nil if it is unknown. The idle thread 0 has
// the name "<idle>", as in the kernel's trace.
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
