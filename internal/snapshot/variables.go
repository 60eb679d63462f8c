package snapshot

import (
	"fmt"

	"github.com/ringtap/ringtap/internal/process"
	"github.com/ringtap/ringtap/internal/stack"
)

// lockName describes a lock by its address and, if it is in a variable of a file, by the
// variable's name: "mutex at 0x5640b12a60a0 (queue+0x18)".
func (l *look) lockName(kind string, addr uint64) string {
	if name := l.variable(addr); name != "" {
		return fmt.Sprintf("%s at %#x (%s)", kind, addr, name)
	}
	return fmt.Sprintf("%s at %#x", kind, addr)
}

// variable names the variable that contains an address of the process; "" if none is known.
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
