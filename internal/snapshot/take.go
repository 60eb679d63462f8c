package snapshot

import (
	"context"
	"fmt"
	"io/fs"
	"log/slog"
	"time"

	"github.com/ringtap/ringtap/callchain"
	"github.com/ringtap/ringtap/internal/process"
	"github.com/ringtap/ringtap/internal/snapshot/syscalls"
	"github.com/ringtap/ringtap/internal/stack"
	"github.com/ringtap/ringtap/internal/stack/symbolize"
)

// Taker takes snapshots. It keeps what it learns about files and names for later snapshots. Only
// one goroutine may use it.
type Taker struct {
	opts       Options
	processes  *process.Table
	symbolizer *symbolize.Symbolizer
	unwinder   *callchain.Unwinder
}

// New returns a Taker. The caller must close it.
func New(opts Options) *Taker {
	if opts.Logger == nil {
		opts.Logger = slog.New(slog.DiscardHandler)
	}
	return &Taker{opts: opts, unwinder: callchain.New(process.Host{}.Arch()),
		processes:  process.NewTable(process.Options{Unwind: true, Logger: opts.Logger}),
		symbolizer: symbolize.New(symbolize.Options{Lines: opts.Lines, Logger: opts.Logger})}
}

// host returns the machine whose processes are looked at.
func (t *Taker) host() process.Host { return t.processes.Host() }

// Close releases the files with symbols.
func (t *Taker) Close() error {
	t.processes.Close()
	return t.symbolizer.Close()
}

// Take takes a snapshot of a process. The error is a *GoneError if the process does not exist.
func (t *Taker) Take(ctx context.Context, pid int) (*Snapshot, error) {
	look := &look{Taker: t, files: threadFiles{host: t.host(), pid: pid, clocks: clocks{}},
		snapshot: &Snapshot{PID: pid, Time: time.Now()}}
	tids, err := t.host().Threads(pid)
	if err != nil {
		return nil, missing(pid, err)
	}
	look.process(tids)
	if !look.kernel && !look.compat {
		look.attach()
	}
	if err := look.threads(ctx, tids); err != nil {
		return nil, fmt.Errorf("process %d: %w", pid, err)
	}
	if len(look.snapshot.Threads) == 0 {
		return nil, missing(pid, fs.ErrNotExist)
	}
	if err := look.goroutines(ctx); err != nil {
		return nil, missing(pid, err)
	}
	look.name()
	if t.opts.Locks {
		look.holders()
	}
	look.notes()
	return look.snapshot, nil
}

// threads looks at all threads.
func (l *look) threads(ctx context.Context, tids []int) error {
	if l.opts.Stop && !l.kernel {
		return onThread(func() error { return l.stopped(ctx, tids) })
	}
	for _, tid := range tids {
		l.thread(tid)
		if ctx.Err() != nil {
			return ctx.Err()
		}
	}
	l.sample(ctx)
	return nil
}

// look is the state of one call of Take.
type look struct {
	*Taker
	files     threadFiles
	snapshot  *Snapshot
	user      userStacks
	describe  syscalls.Thread
	compat    bool           // a 32-bit program
	arch      callchain.Arch // the program's; zero if its stacks cannot be unwound
	unwinding *callchain.Unwinder
	kernel    bool            // it is a kernel thread
	stacks    map[*Thread]int // index of the user stack
	kernels   map[*Thread]int // index of the kernel stack, for sampled threads
	words     map[*Thread]lockWords
	variables map[uint64]string // by address
	interned  *callchain.Interner

	interpreters interpreters
	levels       map[*Thread][]interpreted // of threads in interpreted code
	runtimes     *stack.Runtimes           // runtimes with one frame for each call
	remapped     bool
}

// start returns where the function of a frame starts.
func (l *look) start(f callchain.Frame) (uint64, bool) {
	return l.symbolizer.Function(f, stack.NewImage(l.processes.Objects()[f.Object]))
}

// attempts is how often a thread is read if it ran during the read.
const attempts = 3

// thread reads one thread and adds it to the snapshot.
func (l *look) thread(tid int) {
	for range attempts {
		t, err := l.files.read(tid)
		if err != nil {
			return // it has ended
		}
		if t.State == 'R' {
			l.add(t)
			return
		}
		l.files.kernelStack(t)
		if t.pc == 0 || l.arch == 0 { // a kernel thread, or one that may not be read
			l.call(t)
			l.add(t)
			return
		}
		frames, end := l.user.waiting(t)
		if end == callchain.Lost && l.remap() {
			frames, end = l.user.waiting(t)
		}
		levels, why := l.interpreted(t, frames, end)
		l.call(t)
		l.keepWords(t)
		again, err := l.files.read(tid)
		if err != nil {
			return
		}
		if again.switches == t.switches && again.pc == t.pc && again.sp == t.sp {
			l.standing(t, frames, end, levels, why)
			l.add(t)
			return
		}
	}
	// It never waited long enough to be read.
	if t, err := l.files.read(tid); err == nil {
		t.State = 'R'
		l.add(t)
	}
}

// remap reads the process's mappings again, because a program may generate code as it runs. It does
// so only once, and reports whether it did.
func (l *look) remap() bool {
	if l.remapped {
		return false
	}
	l.remapped = true
	l.user.space = l.processes.Reread(l.snapshot.PID)
	return true
}

// standing sets the stack of a thread that did not run during the read. levels, if not empty, joins
// it with interpreted calls. why says what is missing.
func (l *look) standing(t *Thread, frames []callchain.Frame, end callchain.End, levels []interpreted, why string) {
	if len(frames) > 0 {
		t.Truncated = end != callchain.Complete
		l.stacks[t] = l.intern(frames, t.Truncated)
	}
	if len(levels) > 0 {
		l.levels[t] = levels
	}
	t.Uninterpreted = why
}

func (l *look) add(t *Thread) { l.snapshot.Threads = append(l.snapshot.Threads, t) }

// intern stores each stack once and returns its index. The ids of an Interner are consecutive.
func (l *look) intern(frames []callchain.Frame, truncated bool) int {
	return int(l.interned.Intern(frames, truncated))
}
