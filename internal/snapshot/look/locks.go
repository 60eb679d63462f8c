package look

import (
	"bufio"
	"cmp"
	"fmt"
	"slices"

	"github.com/ringtap/ringtap/internal/escape"
	"github.com/ringtap/ringtap/internal/snapshot"
)

// writeDeadlocks writes the circles of threads that wait for each other.
func writeDeadlocks(w *bufio.Writer, circles [][]*snapshot.Thread) {
	for _, circle := range circles {
		if len(circle) == 1 {
			fmt.Fprintln(w, "deadlock: a thread waits for itself")
		} else {
			fmt.Fprintf(w, "deadlock: %d threads wait for each other\n", len(circle))
		}
		for _, t := range circle {
			fmt.Fprintf(w, "  thread %d %s waits for the %s, held by %s\n", t.TID, escape.Text(t.Comm), escape.Text(t.Holder.What), escape.Text(t.Holder.By()))
		}
		fmt.Fprintln(w)
	}
}

// maxLocks is how many locks are listed before the stacks.
const maxLocks = 5

// locks lists the locks that threads and goroutines wait for and somebody holds, the
// most wanted first.
func (w text) locks() {
	type wanted struct{ kind, lock string }
	var locks []wanted
	waiting := make(map[wanted]int)
	add := func(kind, lock string) {
		l := wanted{kind, lock}
		if waiting[l]++; waiting[l] == 1 {
			locks = append(locks, l)
		}
	}
	for _, t := range w.Threads {
		if t.Holder != nil {
			add("thread", fmt.Sprintf("%s, held by %s", t.Holder.What, t.Holder.By()))
		}
	}
	for _, g := range w.Goroutines {
		if g.Mutex {
			add("goroutine", g.Lock)
		}
	}
	slices.SortStableFunc(locks, func(a, b wanted) int { return cmp.Compare(waiting[b], waiting[a]) })
	for _, l := range locks[:min(len(locks), maxLocks)] {
		wait := "wait"
		if waiting[l] == 1 {
			wait = "waits"
		}
		fmt.Fprintf(w, "%s %s for the %s\n", counted(waiting[l], l.kind), wait, escape.Text(l.lock))
	}
	if n := len(locks) - maxLocks; n > 0 {
		fmt.Fprintf(w, "… and for %s\n", counted(n, "other lock"))
	}
}

// heldBy says who holds what a thread waits for, "" if that is not known.
func heldBy(t *snapshot.Thread) string {
	if t.Holder == nil {
		return ""
	}
	return fmt.Sprintf("%s by %s", t.Holder.What, t.Holder.By())
}
