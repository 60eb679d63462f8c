package look

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/ringtap/ringtap/internal/snapshot"
	"github.com/ringtap/ringtap/internal/text/escape"
)

// goroutines prints the goroutines of a Go program. The stack of a running goroutine is printed
// with its thread.
func (w text) goroutines() {
	groups, n := w.GroupGoroutines(w.all), 0
	for i := range groups {
		n += len(groups[i].Goroutines)
	}
	if len(w.Runtimes) > 0 {
		fmt.Fprintf(w, "%s: %s\n", escape.Text(strings.Join(w.Runtimes, ", ")), counted(n, "goroutine"))
	}
	for _, group := range groups {
		if !w.all {
			w.goroutineGroup(group.Goroutines)
			continue
		}
		for i := range group.Goroutines {
			w.goroutineGroup(group.Goroutines[i : i+1])
		}
	}
}

// goroutineGroup prints goroutines at the same place. It omits the stack if they have not moved
// since the previous look.
func (w text) goroutineGroup(goroutines []*snapshot.Goroutine) {
	first := goroutines[0]
	head, moved := w.goroutineHead(goroutines)
	if moved {
		fmt.Fprintln(w)
	}
	fmt.Fprintln(w, head)
	for _, lock := range distinct(goroutines, goLock) {
		w.lines("lock", []string{lock})
	}
	if !moved {
		return
	}
	w.lines("user", userLines(first.User, first.Truncated, first.Missing))
	if first.Creator != "" {
		w.lines("made", []string{"by " + first.Creator})
	}
}

// goroutineHead returns the goroutines at one place, what they wait for and for how long. moved is
// false if all of them were there at the previous look.
func (w text) goroutineHead(goroutines []*snapshot.Goroutine) (head string, moved bool) {
	first := goroutines[0]
	var ids []string
	var times []time.Duration
	var looks []int
	for i, g := range goroutines {
		if i < maxNamed {
			ids = append(ids, fmt.Sprint(g.ID))
		}
		if g.Known {
			times = append(times, g.Waited)
		}
		looks = append(looks, w.still.Goroutines[g.ID].Looks)
	}
	head = "goroutine " + ids[0]
	if n := len(goroutines); n > 1 {
		if n > maxNamed {
			ids = append(ids, "…")
		}
		head = fmt.Sprintf("%d goroutines (%s)", n, strings.Join(ids, ", "))
	}
	head += ": " + escape.Text(first.State) + between(times)
	if first.Thread != 0 {
		head += fmt.Sprintf(", on thread %d", first.Thread)
	}
	if first.Locked {
		head += ", locked to its thread"
	}
	return head + unmoved(looks), w.all || slices.Min(looks) == 1
}
