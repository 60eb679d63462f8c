package snapshot

import (
	"fmt"
	"strings"

	"github.com/ringtap/ringtap/internal/process"
	"github.com/ringtap/ringtap/internal/stack"
)

// A Lock is a lock or channel that a thread or goroutine waits for. The zero value means that it
// waits for none.
type Lock struct {
	Kind     string // "mutex", "sync.RWMutex", "lock on /var/lib/x"
	Addr     uint64 // 0 if it is not in memory, or its address is unknown
	Variable string // variable of a file that contains the lock: "queue+0x18"; "" if unknown
}

// String describes a lock by its address and variable: "mutex at 0x5640b12a60a0 (queue+0x18)".
func (l Lock) String() string {
	text := l.Kind
	if l.Addr != 0 {
		text += fmt.Sprintf(" at %#x", l.Addr)
	}
	if l.Variable != "" {
		text += " (" + l.Variable + ")"
	}
	return text
}

// IsMutex reports whether l is a Go mutex, which some goroutine has to unlock.
func (l Lock) IsMutex() bool { return strings.HasPrefix(l.Kind, "sync.") }

// Short describes a lock by its variable, or by its address if that is unknown: "mutex queue+0x18".
func (l Lock) Short() string {
	switch {
	case l.Variable != "":
		return l.Kind + " " + l.Variable
	case l.Addr != 0:
		return fmt.Sprintf("%s %#x", l.Kind, l.Addr)
	}
	return l.Kind
}

// lock returns the lock of this kind at an address of the process.
func (l *look) lock(kind string, addr uint64) Lock { return Lock{kind, addr, l.variable(addr)} }

// variable returns the name of the variable that contains an address of the process, or "".
func (l *look) variable(addr uint64) string {
	if name, known := l.variables[addr]; known {
		return name
	}
	name := ""
	seen := make(map[*process.Object]bool)
	for m := range l.user.space.Mapped {
		if m.Object.Kind != process.File || seen[m.Object] {
			continue
		}
		seen[m.Object] = true
		mapping, ok := l.user.space.Find(m.Start)
		if !ok {
			continue
		}
		found, start, ok := l.symbolizer.Variable(addr, m.Start, m.Offset, mapping.Object, stack.NewImage(m.Object))
		if !ok {
			continue
		}
		if name = found; addr > start {
			name += fmt.Sprintf("+%#x", addr-start)
		}
		break
	}
	l.variables[addr] = name
	return name
}
