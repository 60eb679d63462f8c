package callchain

import "github.com/ringtap/ringtap/internal/gotable"

// Crossing is code of a Go program that goes on on another stack. What it has called returns to it, and
// next to that return address the stack says where the other stack is: see switchSet and callback.
type Crossing struct {
	Start, End uint64 // file offsets, or addresses in a process
	// IntoGo is whether the function is runtime.cgocallback, by which C calls Go. Else it is
	// runtime.asmcgocall, by which Go calls C.
	IntoGo bool
}

// Crossings returns the functions of a Go program by which C calls Go and Go calls C, as file offsets.
// It returns nothing for other files.
func (t *Table) Crossings() []Crossing {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.golang == nil {
		return nil
	}
	if !t.crossed {
		t.crossed, t.crossings = true, t.findCrossings()
	}
	return t.crossings
}

// findCrossings looks at all functions: the table is sorted by address only.
func (t *Table) findCrossings() (all []Crossing) {
	for i := range t.golang.Len {
		fn := t.golang.Func(i)
		id, _ := fn.ID()
		if id != gotable.AsmCgoCall && id != gotable.CgoCallback {
			continue
		}
		if f, ok := t.place(function{}, fn.Entry, fn.End); ok {
			all = append(all, Crossing{f.start, f.end, id == gotable.CgoCallback})
		}
	}
	return all
}
