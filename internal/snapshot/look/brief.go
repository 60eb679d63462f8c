package look

import (
	"fmt"
	"path/filepath"
	"slices"
	"strings"

	"github.com/ringtap/ringtap/internal/snapshot"
	"github.com/ringtap/ringtap/internal/text/escape"
	"github.com/ringtap/ringtap/internal/text/match"
)

// brief prints only the threads and goroutines of a snapshot that a verdict is about, and only the
// program's own functions of their stacks.
type brief struct {
	text
	verdict *verdict
	frames  int // lines per stack
}

func (w brief) write() {
	w.head(w.width)
	if w.Ended() {
		return
	}
	threads, goroutines := 0, 0
	for _, group := range w.GroupGoroutines(false) {
		shown := slices.DeleteFunc(slices.Clone(group.Goroutines), func(g *snapshot.Goroutine) bool { return !w.verdict.goroutines[g] })
		goroutines += len(group.Goroutines) - len(shown)
		if len(shown) == 0 {
			continue
		}
		head, moved := w.goroutineHead(shown)
		w.stack(head, moved, shown[0].User, shown[0].Truncated)
	}
	for _, group := range w.Group() {
		shown := slices.DeleteFunc(slices.Clone(group.Threads), func(t *snapshot.Thread) bool { return !w.verdict.threads[t] })
		threads += len(group.Threads) - len(shown)
		if len(shown) == 0 {
			continue
		}
		head, moved := w.threadHead(shown)
		if shown[0].Holder == nil && shown[0].Call != "" {
			head += ", in " + escape.Text(shown[0].Call)
		}
		w.stack(head, moved, shown[0].User, shown[0].Truncated)
	}
	var others []string
	if goroutines > 0 {
		others = append(others, counted(goroutines, "goroutine"))
	}
	if threads > 0 {
		others = append(others, counted(threads, "thread"))
	}
	if len(others) > 0 {
		fmt.Fprintf(w, "\nnot shown: %s (--all shows every one)\n", strings.Join(others, " and "))
	}
}

// stack prints a head and, if moved is set, the functions of a stack.
func (w brief) stack(head string, moved bool, frames []snapshot.Frame, truncated bool) {
	if moved {
		fmt.Fprintln(w)
	}
	fmt.Fprintln(w, fit(head, w.width))
	if !moved {
		return
	}
	own := ownFrames(frames)
	rest := len(own) - w.frames
	if rest > 1 {
		own = own[:w.frames]
	}
	lines := userLines(own, truncated && rest <= 1)
	if rest > 1 {
		lines = append(lines, fmt.Sprintf("… %d more", rest))
	}
	w.lines("user", lines)
}

// ownFrames returns the frames that show where the program itself waits. It drops the frames inside the
// library function that waits, and those that start a thread. If there are interpreted functions, it
// returns only them.
func ownFrames(frames []snapshot.Frame) []snapshot.Frame {
	if interpreted := slices.DeleteFunc(slices.Clone(frames), func(f snapshot.Frame) bool { return f.Runtime == "" }); len(interpreted) > 0 {
		return interpreted
	}
	first := slices.IndexFunc(frames, func(f snapshot.Frame) bool { return !isWaiting(&f) })
	if first > 0 {
		frames = frames[first-1:] // starts with the function that the program calls
	}
	for len(frames) > 1 && isStart(&frames[len(frames)-1]) {
		frames = frames[:len(frames)-1]
	}
	return frames
}

// ownFrame returns the innermost frame of a stack that is the program's own, or nil if there is
// none.
func ownFrame(frames []snapshot.Frame) *snapshot.Frame {
	for i := range frames {
		if frames[i].Runtime != "" {
			return &frames[i]
		}
	}
	for i := range frames {
		if !isWaiting(&frames[i]) {
			return &frames[i]
		}
	}
	return nil
}

// isWaiting reports whether a function is part of the C library, or of the Go packages in which
// goroutines wait. An inlined function has the object of the function that it is inlined into.
func isWaiting(f *snapshot.Frame) bool {
	if match.IsCLibrary(filepath.Base(f.Object)) {
		return true
	}
	for _, prefix := range []string{"runtime.", "internal/runtime/", "internal/sync.", "sync.", "internal/poll.", "syscall.", "internal/syscall/", "os.", "net.", "io.", "bufio.", "time."} {
		if strings.HasPrefix(f.Name, prefix) {
			return true
		}
	}
	return false
}

// starts are the functions that call the first function of a thread or goroutine.
var starts = []string{"start_thread", "clone", "clone3", "__clone", "__clone3", "_start", "__libc_start_call_main", "__libc_start_main", "runtime.goexit", "runtime.goexit.abi0", "runtime.main"}

func isStart(f *snapshot.Frame) bool { return slices.Contains(starts, f.Name) }

// ownPlace returns the innermost function of a stack that is the program's own, with its line, or
// "".
func ownPlace(frames []snapshot.Frame) string {
	f := ownFrame(frames)
	if f == nil {
		return ""
	}
	return escape.Text(place(f))
}

// place returns a function and its line: "flush (app/main.py:10)".
func place(f *snapshot.Frame) string {
	if f.Line == 0 {
		return f.Name
	}
	return fmt.Sprintf("%s (%s:%d)", f.Name, filepath.Base(f.File), f.Line)
}
