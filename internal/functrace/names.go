package functrace

import (
	"strconv"
	"strings"

	"github.com/ringtap/ringtap/ftrace"
	"github.com/ringtap/ringtap/internal/process"
)

// names knows what threads are called, as far as the kernel still does.
type names struct {
	top   *ftrace.FS
	now   *process.Names // read since forget
	known map[int][]byte // ever
	saved map[int][]byte // the kernel's own memory of names; nil until it is read
}

func newNames(top *ftrace.FS, host process.Host) *names {
	return &names{top: top, now: process.NewNames(host), known: map[int][]byte{}}
}

// maxNames bounds the memory of threads that are gone.
const maxNames = 1 << 16

// forget has names asked for again, which threads may have changed.
func (n *names) forget() {
	for tid, name := range n.now.Forget() {
		if name != nil {
			n.known[int(tid)] = name
		}
	}
	n.saved = nil
	if len(n.known) > maxNames {
		clear(n.known)
	}
}

// of is the name of a thread, empty if nobody knows.
func (n *names) of(tid int) []byte {
	if tid == 0 {
		return nil // the idle task, which has a name of its own in traces
	}
	if name := n.now.Name(uint32(tid)); name != nil {
		return name
	}
	return n.ofDead(tid)
}

// ofDead is the name of a thread that is gone: the kernel keeps some of those
// that it has traced.
func (n *names) ofDead(tid int) []byte {
	if n.saved == nil {
		text, _ := readFile(n.top, "saved_cmdlines")
		n.saved = parseSaved(text)
	}
	if name, ok := n.saved[tid]; ok && name != nil {
		n.known[tid] = name
	} else if ok {
		return nil
	}
	return n.known[tid]
}

// parseSaved reads saved_cmdlines, whose lines are "TID NAME". A name may hold a
// line break, and what follows it look like another thread's: a thread that has
// two names has none.
func parseSaved(text string) map[int][]byte {
	saved := map[int][]byte{}
	for line := range strings.Lines(text) {
		number, name, ok := strings.Cut(strings.TrimSuffix(line, "\n"), " ")
		tid, err := strconv.Atoi(number)
		if !ok || err != nil || tid <= 0 {
			continue
		}
		if _, twice := saved[tid]; twice || name == "<...>" {
			saved[tid] = nil
			continue
		}
		saved[tid] = []byte(name)
	}
	return saved
}
