package main

import (
	"fmt"
	"math"
	"time"

	"github.com/spf13/pflag"

	"github.com/ringtap/ringtap/internal/allocator"
	"github.com/ringtap/ringtap/internal/escape"
	"github.com/ringtap/ringtap/internal/questions/memleak"
	"github.com/ringtap/ringtap/internal/table"
)

const memleakUsage = `memleak [options] [COLLECTOR...] [-- COMMAND ARG...]

Show memory that was allocated and not freed, by process and call stack, at the end of
each interval. ringtap does not know what was allocated before it started.

  ringtap memleak -p 4242 -i 10            what grows in a running process
  ringtap memleak -- ./prog                what a command never freed
  ringtap memleak -p 4242 --older 60       only memory that is at least a minute old
  ringtap memleak -p 4242 --every 65536    sample the allocations and scale: needs less memory
  ringtap memleak -k -d 10                 the kernel's memory; -k -u for both

User memory comes from malloc and related functions (libc, musl, jemalloc, tcmalloc, and
statically linked ones that have symbols) and from mmap. The outermost call counts. Kernel
memory comes from kmalloc, slab caches, pages and per-CPU memory.

At first ringtap copies little of each stack, so that it loses no free in a storm of
calls. It copies more within two seconds. A short command therefore has only the five to
ten innermost callers. If the program keeps frame pointers, --unwind fp has all callers
from the beginning.
`

// memleak is the question of memleak.
type memleakQuestion struct {
	missedFrees bool
	older       secondsFlag
	every       uint64
	throwingNew bool
}

func (q *memleakQuestion) flags(flags *pflag.FlagSet) {
	flags.BoolVarP(&q.missedFrees, "missed-frees", "W", false, "memleak: if memory is allocated at an address that was not freed, drop the earlier allocation: ringtap missed its free")
	flags.Var(&q.older, "older", "memleak: show only memory that is older than `SECONDS`")
	flags.Uint64Var(&q.every, "every", 0, "memleak: sample one allocation in `BYTES` on average, and scale")
	flags.BoolVar(&q.throwingNew, "throwing-new", false, "memleak: also probe operator new of jemalloc and tcmalloc; a program that then runs out of memory ends, even if it catches std::bad_alloc")
}

func (q *memleakQuestion) take(args []string) ([]string, error) { return args, nil }

func (q *memleakQuestion) validate() error {
	if q.every > math.MaxInt64 {
		return usagef("--every %d: at most %d bytes", q.every, int64(math.MaxInt64))
	}
	return nil
}

func (q *memleakQuestion) make(a *asking) ([]table.Collector, error) {
	var collectors []table.Collector
	if a.user || !a.kernel {
		collector, err := q.userMemory(a)
		if err != nil {
			return nil, err
		}
		collectors = append(collectors, collector)
	}
	if a.kernel {
		collector, err := q.kernelMemory(a)
		if err != nil {
			return nil, err
		}
		if a.user {
			collector.Prefix = "Kernel" // beside the columns of user memory
		}
		collectors = append(collectors, collector)
	}
	return collectors, nil
}

func (q *memleakQuestion) options() memleak.Options {
	return memleak.Options{MissedFrees: q.missedFrees, Older: time.Duration(q.older), Every: q.every}
}

// userMemory probes the allocators that the target has.
func (q *memleakQuestion) userMemory(a *asking) (table.Collector, error) {
	logger := a.out.logger(a.verbose)
	where := allocator.Where{ThrowingNew: q.throwingNew, Logger: logger}
	switch {
	case a.Command != nil:
		where.Command = a.Command
	case a.PIDs != nil:
		where.PIDs = a.PIDs
	case a.TID != 0:
		where.PIDs = []int{a.TID}
		fmt.Fprintln(a.out.stderr, "note: ringtap does not see what other threads free of this thread's memory, which stays in the table; -p watches them all")
	case a.Cgroup != "":
		where.Cgroup = a.Cgroup
	}
	found, err := allocator.Find(where)
	if err != nil {
		return nil, err
	}
	a.closing(found.Close)
	for _, file := range found.Files {
		logger.Info("an allocator is probed", "file", file)
	}
	q.sayUnwatched(a.out, found)
	attached, err := allocator.Attach(found, a.target, logger)
	if err != nil {
		return nil, err
	}
	a.closing(attached.Close)
	stacks := a.stacks()
	stacks.User, stacks.Kernel = true, false
	collector := memleak.New(attached.Sources, stacks, q.options())
	collector.Ended = a.Command != nil || a.PIDs != nil || a.TID != 0
	a.closing(collector.Close)
	a.closing(func() error { q.sayMissed(a.out, collector); return nil })
	return collector, nil
}

// sayUnwatched says of which files operator new is left out.
func (q *memleakQuestion) sayUnwatched(out *console, found *allocator.Probes) {
	for _, file := range found.Unwatched {
		fmt.Fprintf(out.stderr, "note: ringtap does not probe operator new of %s, because a probe there ends a program that catches std::bad_alloc; --throwing-new probes it\n", escape.Text(file))
	}
}

// missing is a collector of leaks.
type missing interface{ Missed() memleak.Misses }

// sayMissed says what was not seen.
func (q *memleakQuestion) sayMissed(out *console, of missing) {
	missed := of.Missed()
	switch {
	case missed.Frees > 0 && q.missedFrees:
		fmt.Fprintf(out.stderr, "memleak: missed %d frees, as later allocations at the same addresses show; their memory was dropped from the table\n", missed.Frees)
	case missed.Frees > 0:
		fmt.Fprintf(out.stderr, "memleak: missed %d frees, as later allocations at the same addresses show; their memory counts as leaked (-W drops it)\n", missed.Frees)
	}
	if missed.Unkept > 0 {
		fmt.Fprintf(out.stderr, "memleak: left out %d allocations, because --max-memory was used up: raise it, or sample with --every\n", missed.Unkept)
	}
	if missed.Lost {
		fmt.Fprintln(out.stderr, "memleak: records were lost, and some may have been frees: memory that is shown may be free; watching one process (-p) loses fewer")
	}
	if missed.Unread > 0 {
		fmt.Fprintf(out.stderr, "memleak: left out %d allocations whose addresses could not be read\n", missed.Unread)
	}
}
