package functrace

import (
	"bytes"
	"os"
	"path/filepath"
	"strconv"
	"strings"

	"github.com/ringtap/ringtap/ftrace"
)

// names knows what threads are called, as far as the kernel still does.
type names struct {
	top   *ftrace.FS
	round map[int][]byte // asked for since forget
	known map[int][]byte // ever
	saved map[int][]byte // the kernel's own memory of names; nil until it is read
}

func newNames(top *ftrace.FS) *names {
	return &names{top: top, round: map[int][]byte{}, known: map[int][]byte{}}
}

// maxNames bounds the memory of threads that are gone.
const maxNames = 1 << 16

// forget has names asked for again, which threads may have changed.
func (n *names) forget() {
	clear(n.round)
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
	name, ok := n.round[tid]
	if ok {
		return name
	}
	text, err := os.ReadFile(filepath.Join("/proc", strconv.Itoa(tid), "comm"))
	if err == nil {
		name = bytes.TrimSuffix(text, []byte("\n"))
	} else {
		name = n.ofDead(tid)
	}
	n.round[tid] = name
	if name != nil {
		n.known[tid] = name
	}
	return name
}

// ofDead is the name of a thread that is gone: the kernel keeps some of those
// that it has traced.
func (n *names) ofDead(tid int) []byte {
	if n.saved == nil {
		text, _ := readFile(n.top, "saved_cmdlines")
		n.saved = parseSaved(text)
	}
	if name, ok := n.saved[tid]; ok {
		return name
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
