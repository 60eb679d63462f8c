package memleak

import (
	"errors"
	"fmt"
	"io"
	"slices"

	"github.com/ringtap/ringtap/ftrace"
	"github.com/ringtap/ringtap/internal/collect"
	"github.com/ringtap/ringtap/internal/collect/allocator"
	"github.com/ringtap/ringtap/internal/collect/table"
	"github.com/ringtap/ringtap/internal/process"
	"github.com/ringtap/ringtap/internal/stack"
	"github.com/ringtap/ringtap/symbols"
)

// Open returns the collectors of a run: of user memory, kernel memory, or both, depending on the
// stacks that the user asked for. throwingNew also probes functions that throw: see
// allocator.Where.
func Open(run *collect.Run, o Options, throwingNew bool) ([]table.Collector, error) {
	var collectors []table.Collector
	if run.User || !run.Kernel {
		collector, err := userMemory(run, o, throwingNew)
		if err != nil {
			return nil, err
		}
		collectors = append(collectors, collector)
	}
	if run.Kernel {
		collector, err := kernelMemory(run, o)
		if err != nil {
			return nil, err
		}
		if run.User {
			collector.prefix = "Kernel" // next to the columns of user memory
		}
		collectors = append(collectors, collector)
	}
	return collectors, nil
}

// userMemory probes the allocators of the target.
func userMemory(run *collect.Run, o Options, throwingNew bool) (table.Collector, error) {
	logger := run.Logger
	where := allocator.Where{ThrowingNew: throwingNew, Logger: logger}
	switch {
	case run.Command != nil:
		where.Command = run.Command
	case run.PIDs != nil:
		where.PIDs = run.PIDs
	case run.TID != 0:
		where.PIDs = []int{run.TID}
		run.Note("ringtap does not see what other threads free of this thread's memory, which stays in the table; -p watches them all")
	case run.Cgroup != "":
		where.Cgroup = run.Cgroup
	}
	found, err := allocator.Find(where)
	if err != nil {
		return nil, err
	}
	run.Closing(found.Close)
	for _, file := range found.Files {
		logger.Info("an allocator is probed", "file", file)
	}
	for _, file := range found.Unwatched {
		run.Note(fmt.Sprintf("ringtap does not probe operator new of %s, because a probe there ends a program that catches std::bad_alloc; --throwing-new probes it", file))
	}
	found.Large = where.PIDs == nil || slices.ContainsFunc(where.PIDs, mayInterpret)
	attached, err := allocator.Attach(found, run.Watched, logger)
	if err != nil {
		return nil, err
	}
	run.Closing(attached.Close)
	stacks := run.Stacks()
	stacks.User, stacks.Kernel = true, false
	collector := New(attached.Sources, stacks.Deep(), o)
	collector.Ended = run.Command != nil || run.PIDs != nil || run.TID != 0
	run.Closing(collector.Close)
	run.Say(func(w io.Writer) { sayMissed(w, collector.Missed(), o.MissedFrees) })
	run.Say(func(w io.Writer) { collector.reserved.say(w) })
	run.Say(func(w io.Writer) { collector.options.reading.say(w) })
	if watched := run.Processes(); len(watched) > 0 {
		collector.goHeaps = newGoHeaps(watched, o.Older > 0)
		run.Say(collector.goHeaps.say)
	}
	return collector, nil
}

// mayInterpret reports whether a process may run code of an interpreted language. ringtap cannot read the
// functions of all allocations of such a process if they come fast.
func mayInterpret(pid int) (may bool) {
	// If the process has ended, it runs nothing.
	_ = process.Host{}.Areas(pid, func(a *process.Area) bool {
		may = a.Executable && stack.MayBeInterpreter(string(a.Path))
		return !may
	})
	return may
}

// sayMissed writes what ringtap did not see.
func sayMissed(w io.Writer, missed Misses, dropped bool) {
	switch {
	case missed.frees > 0 && dropped:
		fmt.Fprintf(w, "memleak: missed %d frees, as later allocations at the same addresses show; their memory was dropped from the table\n", missed.frees)
	case missed.frees > 0:
		fmt.Fprintf(w, "memleak: missed %d frees, as later allocations at the same addresses show; their memory counts as leaked (-W drops it)\n", missed.frees)
	}
	if missed.unkept > 0 {
		fmt.Fprintf(w, "memleak: left out %d allocations, because --max-memory was used up: raise it, or sample with --every\n", missed.unkept)
	}
	if missed.lost {
		fmt.Fprintln(w, "memleak: records were lost, and some may have been frees: memory that is shown may be free; watching one process (-p) loses fewer")
	}
	if missed.unread > 0 {
		fmt.Fprintf(w, "memleak: left out %d allocations whose addresses could not be read\n", missed.unread)
	}
}

// say writes which mapped memory the report leaves out.
func (r *reserved) say(w io.Writer) {
	if r.areas > 0 {
		fmt.Fprintf(w, "memleak: not counted: %s of address space that mmap only reserved (PROT_NONE or MAP_NORESERVE; calls: %d), even if the program used some of it later\n", mebibytes(r.areaBytes), r.areas)
	}
	if r.goBytes > 0 {
		fmt.Fprintf(w, "memleak: not counted: %s that Go's runtime mapped for its heap; -p PID shows that heap by function\n", mebibytes(r.goBytes))
	}
	if r.stacks > 0 {
		fmt.Fprintf(w, "memleak: not counted: %s of thread stacks (%d), which libc keeps for later threads\n", mebibytes(r.stackBytes), r.stacks)
	}
}

// mebibytes formats a number of bytes.
func mebibytes(n uint64) string {
	const mebi = 1 << 20
	if n < mebi {
		return fmt.Sprintf("%d KiB", n>>10)
	}
	return fmt.Sprintf("%d MiB", n/mebi)
}

// kernelMemory returns the collector that uses the tracepoints of the kernel's allocators.
func kernelMemory(run *collect.Run, o Options) (*Kernel, error) {
	tracefs, _, err := ftrace.Mount()
	if err != nil {
		return nil, err
	}
	formats, err := readKernelFormats(tracefs)
	if err != nil {
		return nil, err
	}
	stacks := run.Stacks()
	stacks.Kernel = true
	collector, err := newKernel(formats, kernelSymbols(run), stacks, o)
	if err != nil {
		return nil, err
	}
	if len(collector.Plan().Samplings) == 0 {
		return nil, errors.New("this kernel has no tracepoints of its allocators (kmem:kmalloc and the like, CONFIG_TRACING): memleak cannot watch its memory; without -k it watches the memory of programs")
	}
	if !run.Whole() {
		run.Note("ringtap does not see what others, such as kernel threads, free of the target's kernel memory, which stays in the table")
	}
	run.NoteBlind(tracefs, "memory freed then stays in the table, or with -W until it is used again")
	run.Closing(collector.Close)
	run.Say(func(w io.Writer) { sayMissed(w, collector.Missed(), o.MissedFrees) })
	return collector, nil
}

// kernelSymbols returns a function that names kernel functions by address. It returns nil if the
// kernel hides addresses.
func kernelSymbols(run *collect.Run) func(address uint64) string {
	file, err := process.Host{}.Kallsyms()
	if err != nil {
		return nil
	}
	defer file.Close()
	table, err := symbols.ReadKallsyms(file)
	if err != nil {
		run.Note(fmt.Sprintf("pages of slab caches count twice, because the kernel's functions have no names: %v", err))
		return nil
	}
	return func(address uint64) string {
		symbol, _ := table.Lookup(address)
		return symbol.Name
	}
}
