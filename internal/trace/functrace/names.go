package functrace

import (
	"strconv"
	"strings"

	"github.com/ringtap/ringtap/ftrace"
	"github.com/ringtap/ringtap/internal/process"
)

// names finds the names of threads, as far as they are still known.
type names struct {
	top   *ftrace.FS
	now   *process.Names // read since the last forget
	known map[int][]byte // all names that were ever read
	saved map[int][]byte // from the kernel's saved_cmdlines; nil until it is read
}

func newNames(top *ftrace.FS, host process.Host) *names {
	return &names{top: top, now: process.NewNames(host), known: map[int][]byte{}}
}

// maxNames bounds the names of ended threads.
const maxNames = 1 << 16

// forget makes names be read again, because threads may have changed them.
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

// of returns the name of a thread, empty if it is unknown.
func (n *names) of(tid int) []byte {
	if tid == 0 {
		return nil // the idle task has a name of its own in traces
	}
	if name := n.now.Name(uint32(tid)); name != nil {
		return name
	}
	return n.ofDead(tid)
}

// ofDead returns the name of a thread that has ended. The kernel keeps some names of threads that
// it has traced.
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

// parseSaved parses saved_cmdlines, whose lines are "TID NAME". A name may contain a line break and
// then text that looks like another thread's line. So a thread with two names gets none.
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
