package look

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/ringtap/ringtap/internal/snapshot"
	"github.com/ringtap/ringtap/internal/text/escape"
)

// verdict describes who waits for whose lock in the snapshots of one look.
type verdict struct {
	graph    *snapshot.WaitGraph
	circles  [][]*snapshot.Thread
	inCircle map[*snapshot.Thread]bool
	// waits are those of goroutines and of threads outside the cycles, most waiters first. Waits
	// for channels are included only if there are no others.
	waits []lockWait
	// threads and goroutines have the stacks that explain the waits. The threads are those in
	// cycles, or those in waits if there are no cycles.
	threads    map[*snapshot.Thread]bool
	goroutines map[*snapshot.Goroutine]bool
	stuck      []*snapshot.Snapshot // processes whose goroutines all wait for each other
}

// lockWait is the threads or goroutines that wait for one lock.
type lockWait struct {
	threads    []*snapshot.Thread
	goroutines []*snapshot.Goroutine
}

func (l *lockWait) count() int { return len(l.threads) + len(l.goroutines) }

// isJoin reports whether threads wait for a thread to end.
func (l *lockWait) isJoin() bool { return len(l.threads) > 0 && l.threads[0].Holder.Ends }

func newVerdict(snapshots []*snapshot.Snapshot) *verdict {
	graph := snapshot.NewWaitGraph(snapshots)
	v := &verdict{graph: graph, circles: graph.Deadlocks(), inCircle: make(map[*snapshot.Thread]bool),
		threads: make(map[*snapshot.Thread]bool), goroutines: make(map[*snapshot.Goroutine]bool)}
	for _, circle := range v.circles {
		for _, t := range circle {
			v.inCircle[t] = true
		}
	}
	for _, s := range snapshots {
		v.addThreads(s)
	}
	for _, mutexes := range []bool{true, false} {
		if !mutexes && len(v.waits)+len(v.circles) > 0 {
			break
		}
		for _, s := range snapshots {
			v.addGoroutines(s, func(g *snapshot.Goroutine) bool { return g.Lock.IsMutex() == mutexes })
		}
	}
	slices.SortStableFunc(v.waits, func(a, b lockWait) int {
		switch {
		case a.isJoin() == b.isJoin():
			return cmp.Compare(b.count(), a.count())
		case a.isJoin(): // most programs have one, which is no problem
			return 1
		}
		return -1
	})
	for _, s := range snapshots {
		if stuckGoroutines(s) > 0 {
			v.stuck = append(v.stuck, s)
		}
	}
	v.choose()
	return v
}

// addThreads adds the waits of a process's threads outside the cycles. A wait also lists the
// threads that hold the lock and wait themselves. A cycle that a thread has left is no deadlock.
// Its waits come last, unless another wait lists them.
func (v *verdict) addThreads(s *snapshot.Snapshot) {
	behind := make(map[*snapshot.Thread]bool)
	for _, t := range s.Threads {
		if h := v.graph.Holder(t); h != nil && !v.inCircle[t] {
			behind[h] = true
		}
	}
	first := len(v.waits)
	named := make(map[*snapshot.Thread]bool)
	for _, circles := range []bool{false, true} {
		for _, t := range s.Threads {
			if t.Holder == nil || v.inCircle[t] || named[t] || behind[t] && !circles {
				continue
			}
			for at := t; at != nil && !named[at]; at = v.graph.Holder(at) {
				named[at] = true
			}
			v.addThread(t, first)
		}
	}
}

// addThread adds the wait of a thread. The waits of its process start at index first.
func (v *verdict) addThread(t *snapshot.Thread, first int) {
	i := slices.IndexFunc(v.waits[first:], func(l lockWait) bool {
		h := l.threads[0].Holder
		same := h.Lock == t.Holder.Lock && h.By() == t.Holder.By()
		return same && (h.Lock.Addr != 0 || ownPlace(l.threads[0].User) == ownPlace(t.User))
	})
	if i < 0 {
		v.waits = append(v.waits, lockWait{})
		i = len(v.waits) - 1 - first
	}
	v.waits[first+i].threads = append(v.waits[first+i].threads, t)
}

// addGoroutines adds the waits of a process's goroutines for locks that wanted accepts.
func (v *verdict) addGoroutines(s *snapshot.Snapshot, wanted func(*snapshot.Goroutine) bool) {
	first := len(v.waits)
	for _, g := range s.Goroutines {
		if g.System || g.Lock.Kind == "" || !wanted(g) {
			continue
		}
		i := slices.IndexFunc(v.waits[first:], func(l lockWait) bool {
			return l.goroutines[0].Lock == g.Lock && l.goroutines[0].HeldBy == g.HeldBy && l.goroutines[0].State == g.State
		})
		if i < 0 {
			v.waits = append(v.waits, lockWait{})
			i = len(v.waits) - 1 - first
		}
		v.waits[first+i].goroutines = append(v.waits[first+i].goroutines, g)
	}
}

// choose selects the threads and goroutines whose stacks are printed.
func (v *verdict) choose() {
	for t := range v.inCircle {
		v.threads[t] = true
	}
	for _, s := range v.stuck {
		for _, g := range s.Goroutines {
			v.goroutines[g] = !g.System
		}
	}
	for i := range v.waits {
		for _, g := range v.waits[i].goroutines {
			v.goroutines[g] = true
		}
		if len(v.circles) > 0 || v.waits[i].isJoin() && !v.waits[0].isJoin() {
			continue
		}
		for _, t := range v.waits[i].threads {
			for at := t; at != nil && !v.threads[at]; at = v.graph.Holder(at) {
				v.threads[at] = true
			}
		}
	}
}

// wakers are the states, as in Go's tracebacks, in which a goroutine waits for another one. But a
// timer or a signal may also send to a channel.
var wakers = []string{"chan receive", "chan send", "select", "sync.", "semacquire"}

// stuckGoroutines returns the number of a process's goroutines if all of them wait for each other,
// otherwise 0.
func stuckGoroutines(s *snapshot.Snapshot) int {
	n, mutexes := 0, false
	for _, g := range s.Goroutines {
		if g.System {
			continue
		}
		if !slices.ContainsFunc(wakers, func(prefix string) bool { return strings.HasPrefix(g.State, prefix) }) {
			return 0
		}
		n, mutexes = n+1, mutexes || g.Lock.IsMutex()
	}
	if !mutexes {
		return 0 // for example a server whose goroutines wait for work
	}
	return n
}

// maxWaits is how many waits outside of deadlocks are listed.
const maxWaits = 6

// lines returns the sentences of a verdict, at least one. Deadlocks come last.
func (v *verdict) lines() (lines []string) {
	for i := range v.waits[:min(len(v.waits), maxWaits)] {
		lines = append(lines, v.wait(&v.waits[i]))
	}
	if n := len(v.waits) - maxWaits; n > 0 {
		lines = append(lines, "… and waits for "+counted(n, "other lock"))
	}
	if slices.ContainsFunc(v.waits, func(l lockWait) bool { return len(l.goroutines) > 0 && l.goroutines[0].Lock.IsMutex() }) {
		lines = append(lines, "Go does not record which goroutine holds a mutex; --all shows what the others do")
	}
	if slices.ContainsFunc(v.waits, func(l lockWait) bool {
		return len(l.threads) > 0 && l.threads[0].Holder.Lock.Kind == snapshot.JavaMonitor
	}) {
		lines = append(lines, "jcmd PID Thread.print shows who holds a Java monitor")
	}
	for _, circle := range v.circles {
		first := circle[0]
		line := "deadlock: " + nameOf(first) + " waits for " + v.want(first)
		for _, t := range circle[1:] {
			line += ", which waits for " + v.want(t)
		}
		lines = append(lines, line)
	}
	for _, s := range v.stuck {
		lines = append(lines, fmt.Sprintf("deadlock: all %s of process %d wait for each other, unless a timer, a signal or C code wakes one",
			counted(stuckGoroutines(s), "goroutine"), s.PID))
	}
	if len(lines) == 0 {
		lines = append(lines, "no deadlock: no thread and no goroutine waits for a lock")
	}
	return lines
}

// wait returns the sentence about threads or goroutines outside of deadlocks.
func (v *verdict) wait(l *lockWait) string {
	verb := "waits"
	if l.count() > 1 {
		verb = "wait"
	}
	if len(l.goroutines) > 0 {
		g := l.goroutines[0]
		text := fmt.Sprintf("%s %s for %s", goroutinesIn(l.goroutines), verb, escape.Text(g.Lock.Short()))
		if !g.Lock.IsMutex() {
			text += " (" + escape.Text(g.State) + ")"
		}
		if g.HeldBy != "" {
			text += " held by " + g.HeldBy
		}
		return text
	}
	t := l.threads[0]
	subject := nameOf(t)
	if n := len(l.threads); n > 1 {
		subject = fmt.Sprintf("%d threads (%s)", n, named(l.threads))
	}
	text := subject + " " + verb + " for " + v.want(t)
	if f := ownFrame(t.User); f != nil && f.Runtime != "" {
		text += " in " + escape.Text(place(f))
	}
	seen := map[*snapshot.Thread]bool{t: true}
	for {
		h := v.graph.Holder(t)
		switch {
		case h == nil, seen[h]:
			return text
		case v.inCircle[h]:
			return text + ", which is in the deadlock"
		case h.Holder == nil:
			return text + ", which is " + doing(h)
		}
		text += ", which waits for " + v.want(h)
		seen[h], t = true, h
	}
}

// want describes what a thread waits for and who holds it.
func (v *verdict) want(t *snapshot.Thread) string {
	h := t.Holder
	by := escape.Text(h.By())
	switch {
	case h.Ends:
		return "the end of " + by
	case h.TID == t.TID:
		return escape.Text(h.Lock.Short()) + ", which it holds itself"
	case !h.IsKnown():
		return escape.Text(h.Lock.Short()) + " (its holder is not known)"
	}
	return escape.Text(h.Lock.Short()) + " held by " + by
}

func nameOf(t *snapshot.Thread) string {
	return fmt.Sprintf("thread %d (%s)", t.TID, escape.Text(t.Comm))
}

// doing describes what a thread that waits for no lock does: its system call, or its state. For
// futex, the function that calls it tells more.
func doing(t *snapshot.Thread) string {
	if t.Call != "" && t.State == 'S' && !strings.HasPrefix(t.Call, "futex(") {
		return "in " + escape.Text(t.Call)
	}
	return stateOf(t) + in(t.User)
}

// goroutinesIn lists goroutines by function: "6 goroutines (5 in main.read, 1 in main.flush)",
// "goroutine 7 (main.flush)".
func goroutinesIn(goroutines []*snapshot.Goroutine) string {
	function := func(g *snapshot.Goroutine) string {
		if f := ownFrame(g.User); f != nil {
			return escape.Text(f.Name)
		}
		return "unknown"
	}
	if len(goroutines) == 1 {
		return fmt.Sprintf("goroutine %d (%s)", goroutines[0].ID, function(goroutines[0]))
	}
	count := make(map[string]int)
	var names []string
	for _, g := range goroutines {
		name := function(g)
		if count[name]++; count[name] == 1 {
			names = append(names, name)
		}
	}
	slices.SortStableFunc(names, func(a, b string) int { return cmp.Compare(count[b], count[a]) })
	if len(names) == 1 {
		return fmt.Sprintf("%d goroutines in %s", len(goroutines), names[0])
	}
	var parts []string
	for _, name := range names[:min(len(names), maxNamed)] {
		parts = append(parts, fmt.Sprintf("%d in %s", count[name], name))
	}
	if len(names) > maxNamed {
		parts = append(parts, "…")
	}
	return fmt.Sprintf("%d goroutines (%s)", len(goroutines), strings.Join(parts, ", "))
}

// heldBy describes who holds what a thread waits for, or returns "" if that is unknown.
func heldBy(t *snapshot.Thread) string {
	if t.Holder == nil {
		return ""
	}
	return fmt.Sprintf("%s by %s", t.Holder.Lock, t.Holder.By())
}

// goLock describes the lock that a goroutine waits for. It returns "" if there is none or it is
// unknown.
func goLock(g *snapshot.Goroutine) string {
	if g.HeldBy == "" {
		return g.Lock.String()
	}
	return fmt.Sprintf("%s, held by %s", g.Lock, g.HeldBy)
}
