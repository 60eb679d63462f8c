package main

import (
	"math"
	"time"

	"github.com/spf13/pflag"

	"github.com/ringtap/ringtap/internal/collect"
	"github.com/ringtap/ringtap/internal/collect/memleak"
	"github.com/ringtap/ringtap/internal/collect/table"
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

With -p or a command, memleak also shows by how much Go's heap has grown. It reads the
samples that the runtime takes for pprof. Programs that link neither runtime/pprof nor
net/http/pprof have none.

At first ringtap copies little of each stack, so that it loses no free in a storm of
calls. It copies more within two seconds. A short command therefore has only the five to
ten innermost callers. If the program keeps frame pointers, --unwind fp has all callers
from the beginning.

Functions of Python 3.6 to 3.15, PHP, Ruby and Perl have their names, as in on-cpu. ringtap
reads the calls of 1,250 allocations a second at most, of 64 KiB and more first. An allocation
that is read stands for others with the same native callers and nearly the same size: their
memory is shared out among the functions that were read. So the sum of those is exact, and each
function's part is an estimate. A note says how much of the memory was read, and how far off
an estimate may be.

Python keeps objects of up to 512 bytes in arenas of 256 KiB or 1 MiB. memleak shows an arena at
the function that was running when Python needed another one. Start the program with
PYTHONMALLOC=malloc to see each object.
`

type memleakQuestion struct {
	plain
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

func (q *memleakQuestion) validate() error {
	if q.every > math.MaxInt64 {
		return usagef("--every %d: at most %d bytes", q.every, int64(math.MaxInt64))
	}
	return nil
}

func (q *memleakQuestion) open(run *collect.Run) ([]table.Collector, error) {
	return memleak.Open(run, memleak.Options{MissedFrees: q.missedFrees, Older: time.Duration(q.older), Every: q.every}, q.throwingNew)
}
