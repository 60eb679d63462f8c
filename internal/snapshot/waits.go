package snapshot

import (
	"errors"
	"io"
	"log/slog"
	"slices"
	"strconv"
	"strings"

	"github.com/ringtap/ringtap/callchain"
	"github.com/ringtap/ringtap/internal/process"
	"github.com/ringtap/ringtap/internal/stack"
	"github.com/ringtap/ringtap/internal/stack/symbolize"
	"github.com/ringtap/ringtap/perfevent"
	"github.com/ringtap/ringtap/symbols"
)

// Waits reads where single threads wait, for collectors that have their own process table. Only one
// goroutine may use it.
type Waits struct {
	processes  *process.Table
	symbolizer *symbolize.Symbolizer
	unwinder   *callchain.Unwinder
	runtimes   *stack.Runtimes
	clocks     clocks
	users      map[int]*userStacks // by process
	stack      []byte              // buffer for a copy of a stack
	other      []byte              // the same: see userStacks
	addresses  map[string]uint64   // addresses of kernel functions, 0 if unknown
	wanted     bool                // some of them have not been looked up yet
}

// NewWaits returns a Waits for the processes of a table. The caller must close it.
func NewWaits(processes *process.Table) *Waits {
	discard := slog.New(slog.DiscardHandler)
	return &Waits{processes: processes, symbolizer: symbolize.New(symbolize.Options{Logger: discard}), unwinder: callchain.New(processes.Host().Arch()),
		runtimes: stack.NewRuntimes(processes), clocks: clocks{}, users: make(map[int]*userStacks), addresses: make(map[string]uint64)}
}

// Close releases the files with symbols.
func (w *Waits) Close() error { return w.symbolizer.Close() }

// Read returns where a thread of a process waits. ok is false if the thread runs, has ended, or may
// not be read.
func (w *Waits) Read(pid, tid int) (wait stack.Wait, ok bool) {
	files := threadFiles{host: w.processes.Host(), pid: pid, clocks: w.clocks}
	for range attempts {
		t, err := files.read(tid)
		if err != nil || t.State == 'R' || t.State == 'Z' || t.State == 'X' {
			return stack.Wait{}, false
		}
		files.kernelStack(t)
		wait = stack.Wait{Kernel: t.Kernel}
		if u := w.user(pid); u != nil && t.pc != 0 {
			u.stack, u.other = w.stack, w.other
			frames, end := u.waiting(t)
			wait.User, wait.Cut = slices.Clone(frames), end == callchain.Cut
			w.stack, w.other = u.stack, u.other
			u.stack, u.other, u.flow = nil, nil, nil // the buffers of w serve all threads
		}
		if until, still := files.still(t); still {
			wait.Until, wait.Still = until, func() (uint64, bool) { return files.still(t) }
			return wait, true
		}
	}
	return stack.Wait{}, false
}

// still reports whether a thread is still in the wait in which it was read, and until which time.
// It looks twice, like look.stillWaits.
func (f *threadFiles) still(t *Thread) (until uint64, ok bool) {
	for range 2 {
		now, err := f.read(t.TID)
		if err != nil || !t.sameWait(now) || now.switches != t.switches || now.pc != t.pc || now.sp != t.sp {
			return 0, false
		}
	}
	return perfevent.Now(), true
}

// user returns the reader of a process's user stacks, or nil if they cannot be unwound.
func (w *Waits) user(pid int) *userStacks {
	if u, known := w.users[pid]; known {
		return u
	}
	host := w.processes.Host()
	arch, unwinder := host.Arch(), w.unwinder
	if is32Bit(host.Path(pid, "exe")) {
		arch = arch.Compat()
		unwinder = callchain.New(arch)
	}
	var u *userStacks
	if arch != 0 {
		u = &userStacks{host: host, arch: arch, pid: pid, space: w.processes.Process(pid), unwinder: unwinder, start: w.start, runtimes: w.runtimes}
	}
	w.users[pid] = u
	return u
}

// start returns where the function of a frame starts.
func (w *Waits) start(f callchain.Frame) (uint64, bool) {
	return w.symbolizer.Function(f, stack.NewImage(w.processes.Objects()[f.Object]))
}

// WantKernel announces that KernelFrames will be called with these functions. The addresses of all
// announced functions are then looked up in one pass.
func (w *Waits) WantKernel(functions []string) {
	for _, function := range functions {
		name, _, _ := strings.Cut(function, "+")
		if _, known := w.addresses[name]; !known {
			w.addresses[name], w.wanted = 0, true
		}
	}
}

// KernelFrames returns frames for the kernel functions in a Wait. It returns none if the kernel
// hides an address.
func (w *Waits) KernelFrames(functions []string) []callchain.Frame {
	if w.WantKernel(functions); w.wanted {
		w.wanted = false
		w.findKernel()
	}
	var frames []callchain.Frame
	for _, function := range functions {
		name, offset, _ := strings.Cut(function, "+")
		offset, _, _ = strings.Cut(offset, "/")
		n, err := strconv.ParseUint(offset, 0, 64)
		if w.addresses[name] == 0 || err != nil {
			return nil
		}
		frames = append(frames, callchain.Frame{Object: callchain.Kernel, Return: true, Offset: w.addresses[name] + n - 1})
	}
	return frames
}

// findKernel looks up the addresses in w.addresses that are still 0.
func (w *Waits) findKernel() {
	file, err := w.processes.Host().Kallsyms()
	if err != nil {
		return // callers print the names
	}
	defer file.Close()
	err = symbols.EachKernelSymbol(file, func(s *symbols.KernelSymbol) error {
		if addr, wanted := w.addresses[string(s.Name)]; wanted && addr == 0 && strings.ContainsRune("tTwW", rune(s.Type)) {
			w.addresses[string(s.Name)] = s.Address
		}
		return nil
	})
	if err != nil && !errors.Is(err, io.EOF) {
		clear(w.addresses)
	}
}
