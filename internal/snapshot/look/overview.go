package look

import (
	"bytes"
	"fmt"
	"slices"
	"strings"

	"github.com/ringtap/ringtap/internal/snapshot"
	"github.com/ringtap/ringtap/internal/text/escape"
)

// maxOverview is how many groups of threads and goroutines an overview lists.
const maxOverview = 10

// writeOverview writes one line for each group of threads and goroutines: waits for locks first,
// native code last. It comes after stacks that do not fit on the screen.
func (l *looks) writeOverview(out *bytes.Buffer, snapshots []*snapshot.Snapshot) {
	var locks, program, native []string
	add := func(lock, ofProgram bool, line string) {
		switch {
		case lock:
			locks = append(locks, line)
		case ofProgram:
			program = append(program, line)
		default:
			native = append(native, line)
		}
	}
	for _, s := range snapshots {
		w := text{out, s, l.still[s.PID], false, l.Width}
		process := ""
		if len(snapshots) > 1 {
			process = fmt.Sprintf("%d ", s.PID)
		}
		for _, group := range s.GroupGoroutines(false) {
			first := group.Goroutines[0]
			subject := fmt.Sprintf("goroutine %d", first.ID)
			if n := len(group.Goroutines); n > 1 {
				subject = fmt.Sprintf("%d goroutines (%d, …)", n, first.ID)
			}
			add(strings.HasPrefix(first.State, "sync."), true, process+subject+": "+escape.Text(first.State)+in(first.User))
		}
		for _, group := range s.Group() {
			first := group.Threads[0]
			if w.isRuntime(first) {
				continue
			}
			subject := "thread " + named(group.Threads[:1])
			if n := len(group.Threads); n > 1 {
				subject = fmt.Sprintf("%d threads (%s, …)", n, named(group.Threads[:1]))
			}
			doing, _, _ := strings.Cut(first.Call, "(")
			if doing == "" || first.State != 'S' {
				doing = stateOf(first)
			}
			f := ownFrame(first.User)
			add(first.WaitsForLock(), f != nil && f.Runtime != "", process+subject+": "+escape.Text(doing)+in(first.User)+between(times(group.Threads)))
		}
	}
	lines := slices.Concat(locks, program, native)
	fmt.Fprintln(out, "\nin short:")
	for _, line := range lines[:min(len(lines), maxOverview)] {
		fmt.Fprintln(out, fit("  "+line, l.Width))
	}
	if n := len(lines) - maxOverview; n > 0 {
		fmt.Fprintf(out, "  … and %s\n", counted(n, "other place"))
	}
	if len(locks) > 0 {
		fmt.Fprintln(out, "--deadlock shows who waits for whose lock.")
	}
}

// in describes the program's own function in which a stack waits: " in main (a.c:7)".
func in(frames []snapshot.Frame) string {
	if place := ownPlace(frames); place != "" {
		return " in " + place
	}
	return ""
}
