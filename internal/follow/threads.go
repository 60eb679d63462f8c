package follow

import (
	"bytes"
	"os"
	"path/filepath"
	"strconv"

	"github.com/ringtap/ringtap/perfevent"
)

// threads knows the names of threads: from records, and from /proc for those
// that are older than the run.
type threads struct {
	proc  string
	names map[uint32][]byte
	// ended holds the last threads that have ended: the kernel traces some of
	// what a thread does after its exit record.
	ended [1024]uint32
	next  int
}

func newThreads(proc string) *threads {
	return &threads{proc: proc, names: map[uint32][]byte{0: []byte("<idle>")}}
}

// snapshot reads the names of the threads of the processes, of all if there are
// none. One that is gone before it is read stays unknown.
func (t *threads) snapshot(pids ...int) {
	dirs := []string{filepath.Join(t.proc, "[0-9]*", "task", "*")}
	if len(pids) > 0 {
		dirs = nil
		for _, pid := range pids {
			dirs = append(dirs, filepath.Join(t.proc, strconv.Itoa(pid), "task", "*"))
		}
	}
	for _, pattern := range dirs {
		tasks, _ := filepath.Glob(pattern) // the pattern is right
		for _, task := range tasks {
			if tid, err := strconv.ParseUint(filepath.Base(task), 10, 32); err == nil {
				t.name(uint32(tid))
			}
		}
	}
}

// handle takes a record that may name a thread.
func (t *threads) handle(record perfevent.Record) {
	switch r := record.(type) {
	case *perfevent.Comm:
		t.names[r.TID] = bytes.Clone(r.Name)
	case *perfevent.Fork:
		t.names[r.TID] = t.name(r.PTID)
	case *perfevent.Exit:
		t.bury(r.TID)
	}
}

// bury forgets the thread that ended a thousand ends ago.
func (t *threads) bury(tid uint32) {
	if old := t.ended[t.next]; old != 0 {
		delete(t.names, old)
	}
	t.ended[t.next] = tid
	t.next = (t.next + 1) % len(t.ended)
}

// name is what a thread is called, "<...>" if nobody knows, as the kernel's
// trace has it.
func (t *threads) name(tid uint32) []byte {
	if name, ok := t.names[tid]; ok {
		return name
	}
	name, err := os.ReadFile(filepath.Join(t.proc, strconv.FormatUint(uint64(tid), 10), "comm"))
	if err != nil {
		name = []byte("<...>")
	}
	name = bytes.TrimSuffix(name, []byte("\n"))
	t.names[tid] = name
	return name
}
