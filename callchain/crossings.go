package callchain

import "github.com/ringtap/ringtap/internal/object/gotable"

// A Crossing is a function of Go's runtime that switches stacks. While a function that it
// called runs, the new stack has the return address into the Crossing, next to the words that
// lead to the old stack. See switchSet and callback.
type Crossing struct {
	Start, End uint64 // file offsets, or addresses in a process
	// IntoGo is true for runtime.cgocallback, through which C calls Go. It is false for
	// runtime.asmcgocall, through which Go calls C.
	IntoGo bool
}

// Crossings returns the Crossings of a Go program, as file offsets, and nothing for other
// files.
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

// findCrossings checks every function: the table is sorted by address only.
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
