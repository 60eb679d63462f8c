package look

import (
	"bytes"
	"fmt"
	"slices"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/ringtap/ringtap/internal/process"
	"github.com/ringtap/ringtap/internal/snapshot"
	"github.com/ringtap/ringtap/internal/text/escape"
)

// text prints a snapshot for people.
type text struct {
	*bytes.Buffer
	*snapshot.Snapshot
	still snapshot.Still
	all   bool // each thread separately
	width int  // columns of the terminal, 0 if the output is not a terminal
}

func (w text) write() {
	w.head(0)
	if w.Ended() {
		return
	}
	w.goroutines()
	var runtime []*snapshot.Thread
	for _, group := range w.groups() {
		if !w.all && w.isRuntime(group.Threads[0]) {
			runtime = append(runtime, group.Threads...)
			continue
		}
		w.group(group.Threads)
	}
	if len(runtime) > 0 {
		fmt.Fprintf(w, "\n%s of the Go runtime (%s), idle or its own; --all shows them\n",
			counted(len(runtime), "thread"), named(runtime))
	}
}

// head prints what the process is, and its command, cut to width columns unless width is 0.
func (w text) head(width int) {
	fmt.Fprintf(w, "process %d %s: %s\n", w.PID, escape.Text(w.Comm), w.summary())
	if w.Command != "" {
		fmt.Fprintln(w, fit(escape.Text(w.Command), width))
	}
}

// summary describes the process, and counts its threads by state.
func (w text) summary() string {
	var parts []string
	switch {
	case w.Ended():
		return fmt.Sprintf("has ended; its parent %d %s has not asked for its exit status", w.Parent, escape.Text(process.Host{}.Comm(w.Parent)))
	case w.Kernel():
		parts = append(parts, "a thread of the kernel")
	case len(w.Threads) == 1:
		parts = append(parts, "1 thread")
	default:
		parts = append(parts, counted(len(w.Threads), "thread")+", "+w.states())
	}
	if w.NSPID != w.PID {
		parts = append(parts, fmt.Sprintf("pid %d in its namespace", w.NSPID))
	}
	if w.Tracer != 0 {
		parts = append(parts, fmt.Sprintf("traced by %d %s", w.Tracer, escape.Text(process.Host{}.Comm(w.Tracer))))
	}
	if w.Stopped > 0 {
		parts = append(parts, fmt.Sprintf("stopped for %s", round(w.Stopped)))
	}
	return strings.Join(parts, ", ")
}

// stateWords describe the letters of proc_pid_stat(5), the most interesting first.
var stateWords = []struct {
	letter byte
	words  string
}{
	{'D', "in uninterruptible sleep"}, {'R', "running"}, {'T', "stopped until SIGCONT"}, {'t', "stopped by a tracer"},
	{'Z', "zombie"}, {'X', "dead"}, {'S', "sleeping"}, {'I', "idle"}, {'P', "parked"},
}

func stateOf(t *snapshot.Thread) string {
	for _, s := range stateWords {
		if s.letter == t.State {
			return s.words
		}
	}
	return fmt.Sprintf("in state %c", t.State)
}

// states counts the threads by state.
func (w text) states() string {
	n := make(map[byte]int)
	for _, t := range w.Threads {
		n[t.State]++
	}
	var parts []string
	for _, s := range stateWords {
		switch n[s.letter] {
		case 0:
		case len(w.Threads):
			return "all " + s.words
		default:
			parts = append(parts, fmt.Sprintf("%d %s", n[s.letter], s.words))
		}
	}
	return strings.Join(parts, ", ")
}

func (w text) groups() []snapshot.Group {
	if !w.all {
		return w.Group()
	}
	var groups []snapshot.Group
	for _, t := range w.Threads {
		groups = append(groups, snapshot.Group{Threads: []*snapshot.Thread{t}})
	}
	return groups
}

// isRuntime reports whether a thread of a Go program does no work for a goroutine.
func (w text) isRuntime(t *snapshot.Thread) bool {
	if len(w.Runtimes) == 0 || len(t.User) == 0 || t.State != 'S' || slices.ContainsFunc(w.Goroutines, func(g *snapshot.Goroutine) bool { return g.Thread == t.TID }) {
		return false
	}
	return !slices.ContainsFunc(t.User, func(f snapshot.Frame) bool {
		return !strings.HasPrefix(f.Name, "runtime.") && !strings.HasPrefix(f.Name, "internal/runtime/")
	})
}

// threadHead returns the threads at one place, what they do and for how long. moved is false if all
// of them were there at the previous look.
func (w text) threadHead(threads []*snapshot.Thread) (head string, moved bool) {
	head = "thread " + named(threads)
	if len(threads) > 1 {
		head = fmt.Sprintf("%d threads (%s)", len(threads), named(threads))
	}
	var looks []int
	for _, t := range threads {
		looks = append(looks, w.still.Threads[t.TID].Looks)
	}
	return fmt.Sprintf("%s: %s%s%s", head, stateOf(threads[0]), between(times(threads)), unmoved(looks)), w.all || slices.Min(looks) == 1
}

// times returns how long threads have waited, as far as known.
func times(threads []*snapshot.Thread) (times []time.Duration) {
	for _, t := range threads {
		if t.Known {
			times = append(times, t.Waited)
		}
	}
	return times
}

// group prints threads at the same place. It omits the stacks if they have not moved since the
// previous look.
func (w text) group(threads []*snapshot.Thread) {
	first := threads[0]
	head, moved := w.threadHead(threads)
	if moved {
		fmt.Fprintln(w)
	}
	fmt.Fprintln(w, head)
	for _, call := range distinct(threads, func(t *snapshot.Thread) string { return t.Call }) {
		w.lines("in", []string{call})
	}
	for _, held := range distinct(threads, heldBy) {
		w.lines("held", []string{held})
	}
	if !moved {
		return
	}
	kernel := first.Kernel
	if first.Wchan != "" {
		kernel = []string{first.Wchan + " (where it sleeps; the stack takes root)"}
	}
	w.lines("kernel", kernel)
	w.lines("user", userLines(first.User, first.Truncated, first.Missing, first.Uninterpreted))
}

// lines prints lines, with a title before the first.
func (w text) lines(title string, lines []string) {
	const indent = 9
	for _, line := range lines {
		fmt.Fprintf(w, "  %-6s %s\n", title, fit(escape.Text(line), w.width-indent))
		title = ""
	}
}

// fit shortens a line to width columns, if width is positive. If the line ends with a path, it cuts
// the path's start, otherwise the line's end.
func fit(line string, width int) string {
	over := utf8.RuneCountInString(line) - width
	if width <= 0 || over <= 0 {
		return line
	}
	const dots, shortest = "…", 12
	if i := strings.LastIndexByte(line, ' '); i >= 0 && strings.Contains(line[i:], "/") {
		if path := []rune(line[i+1:]); len(path)-over-1 >= shortest {
			return line[:i+1] + dots + string(path[over+1:])
		}
	}
	return string([]rune(line)[:width-1]) + dots
}

// userLines returns the lines of a user stack.
func userLines(frames []snapshot.Frame, truncated bool, missing ...string) (lines []string) {
	for i := range frames {
		lines = append(lines, frames[i].String())
	}
	if truncated {
		lines = append(lines, "[its callers are not known]")
	}
	for _, why := range missing {
		if why != "" {
			lines = append(lines, "["+why+"]")
		}
	}
	return lines
}

// maxNamed is how many threads of a group are listed.
const maxNamed = 4

// named lists the first few threads.
func named(threads []*snapshot.Thread) string {
	var names []string
	for _, t := range threads[:min(len(threads), maxNamed)] {
		names = append(names, fmt.Sprintf("%d %s", t.TID, escape.Text(t.Comm)))
	}
	if len(threads) > maxNamed {
		names = append(names, "…")
	}
	return strings.Join(names, ", ")
}

// distinct returns the first few different texts of threads or goroutines, without empty ones.
func distinct[T any](threads []T, text func(T) string) []string {
	var texts []string
	seen := map[string]bool{"": true}
	for _, t := range threads {
		if text := text(t); !seen[text] {
			seen[text] = true
			texts = append(texts, text)
		}
	}
	if n := len(texts) - maxNamed; n > 0 {
		texts = append(texts[:maxNamed], fmt.Sprintf("… and %s", counted(n, "other")))
	}
	return texts
}
