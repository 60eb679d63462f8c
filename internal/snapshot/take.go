package snapshot

import (
	"context"
	"fmt"
	"io/fs"
	"log/slog"
	"time"

	"github.com/ringtap/ringtap/callchain"
	"github.com/ringtap/ringtap/internal/process"
	"github.com/ringtap/ringtap/internal/stack"
	"github.com/ringtap/ringtap/internal/symbolize"
	"github.com/ringtap/ringtap/internal/syscalls"
)

// Taker takes snapshots. What it has learned of files and names it keeps from one to
// the next. It belongs to one goroutine.
type Taker struct {
	opts       Options
	processes  *process.Table
	symbolizer *symbolize.Symbolizer
	unwinder   *callchain.Unwinder
}

// New makes a Taker. It must be closed.
func New(opts Options) *Taker {
	if opts.Logger == nil {
		opts.Logger = slog.New(slog.DiscardHandler)
	}
	return &Taker{opts: opts, unwinder: callchain.New(process.Host{}.Arch()),
		processes:  process.NewTable(process.Options{Unwind: true, Logger: opts.Logger}),
		symbolizer: symbolize.New(symbolize.Options{Lines: opts.Lines, Logger: opts.Logger})}
}

// host is the machine that is looked at.
func (t *Taker) host() process.Host { return t.processes.Host() }

// Close frees what symbols were read from.
func (t *Taker) Close() error {
	t.processes.Close()
	return t.symbolizer.Close()
}

// Take looks at a process. The error is a *GoneError if there is none.
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

// threads looks at the threads.
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

// look is one snapshot that is being taken.
type look struct {
	*Taker
	files     threadFiles
	snapshot  *Snapshot
	user      userStacks
	describe  syscalls.Thread
	compat    bool           // a 32-bit program
	arch      callchain.Arch // the program's; zero for one whose stacks are not unwound
	unwinding *callchain.Unwinder
	kernel    bool            // a thread of the kernel
	stacks    map[*Thread]int // index of its user stack
	kernels   map[*Thread]int // the same of kernel stacks of threads that were sampled
	words     map[*Thread]lockWords
	variables map[uint64]string // by address
	interned  *callchain.Interner

	interpreters interpreters
	levels       map[*Thread][]interpreted // of threads that are in interpreted code
	runtimes     *stack.Runtimes           // whose calls have a frame each
	remapped     bool
}

// start is where the function of a frame begins.
func (l *look) start(f callchain.Frame) (uint64, bool) {
	return l.symbolizer.Function(f, stack.NewImage(l.processes.Objects()[f.Object]))
}

// attempts is how often a thread is read that was switched to meanwhile.
const attempts = 3

// thread reads one thread.
func (l *look) thread(tid int) {
	for range attempts {
		t, err := l.files.read(tid)
		if err != nil {
			return // it has ended, or is no thread any more
		}
		if t.State == 'R' {
			l.add(t)
			return
		}
		l.files.kernelStack(t)
		if t.pc == 0 || l.arch == 0 { // a thread of the kernel, or one that may not be looked into
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

// remap reads the process's mappings once more: a program that makes code as it runs may have done so since
// they were read. It tells whether it did.
func (l *look) remap() bool {
	if l.remapped {
		return false
	}
	l.remapped = true
	l.user.space = l.processes.Reread(l.snapshot.PID)
	return true
}

// standing gives a thread the stack that it had while it stood still, joined where levels
// says so; why is what is missing of that.
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

// intern keeps a stack once and returns its index: the ids of an Interner are dense.
func (l *look) intern(frames []callchain.Frame, truncated bool) int {
	return int(l.interned.Intern(frames, truncated))
}
