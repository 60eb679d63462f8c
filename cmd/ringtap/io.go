package main

import (
	"slices"

	"github.com/spf13/pflag"

	"github.com/ringtap/ringtap/internal/collect"
	"github.com/ringtap/ringtap/internal/collect/block"
	"github.com/ringtap/ringtap/internal/collect/io"
	"github.com/ringtap/ringtap/internal/collect/table"
)

const ioUsage = `io [options] [COLLECTOR...] [-- COMMAND ARG...]

Add up the bytes that system calls move, by process and call stack: read, write, their
vector, positioned, socket and message variants, sendfile, splice, tee, vmsplice and
copy_file_range. IOSize is the bytes moved, IOCount the calls that did not fail, IOTime
the time in all calls, and IOErrors the calls that failed. A call that a signal interrupts, or
that finds no data or room on a descriptor that must not wait (EAGAIN), is not an error: its
time counts, and -v says how many there were. IORead and IOWritten are the bytes
by direction; sendfile, splice, tee and copy_file_range read and write.

  ringtap io -d 10                    the whole host
  ringtap io -p 4242 --by file        one process, by the files it reads and writes
  ringtap io --block -d 10            what is asked of disks, and how long it takes
  ringtap io --out i.html -- ./prog   a command, as a flame graph

If a call spans several intervals, its time counts in each and its bytes count in the
last. A call that began before the run has no stack. Before Linux 6.3 the bytes of sendmmsg and
recvmmsg are unknown and count as 0. A request of io_uring counts from its submission
to its completion, by the stack that submitted it. ringtap does not see what a program
moves through mapped memory or io_submit, or the system calls of 32-bit programs.

The report begins with the processes that move the most bytes; --by file adds which files.

--by looks up a descriptor in /proc when it is first used, a moment after the call. If it was
closed by then, the row has the path by which it was opened: a helper process reads the paths
of files while they are opened. If a path could not be read, the row says [file] or [closed],
and a note counts these bytes. Another note counts the paths that were read too late, because
files were opened too fast, and may be wrong.

--block shows requests to block devices instead, by the stack that made them, the device
and the kind: BlockSize, BlockCount, and BlockTime from issue to completion. A request's
bytes count for all stacks that were merged into it; the request and its time count for
the first. A flush counts for the stack that asked last. Later writeback counts for the
kernel's threads. Stacked devices, such as the device mapper's, appear as the disks below
them.
`

type ioQuestion struct {
	plain
	by    string
	block bool
}

func (q *ioQuestion) flags(flags *pflag.FlagSet) {
	flags.StringVar(&q.by, "by", "", "io: split the rows by `WHAT` is read and written: type (of file), fd (its number), or file (its path)")
	flags.BoolVar(&q.block, "block", false, "io: show requests to block devices instead of system calls")
}

func (q *ioQuestion) validate() error {
	if !slices.Contains([]io.By{io.ByNothing, io.ByType, io.ByFD, io.ByFile}, io.By(q.by)) {
		return usagef("--by %q: one of type, fd, file", q.by)
	}
	if q.block && q.by != "" {
		return usagef("give only one of --block and --by: --block splits rows by device")
	}
	return nil
}

func (q *ioQuestion) open(run *collect.Run) ([]table.Collector, error) {
	if q.block {
		return block.Open(run)
	}
	return io.Open(run, io.By(q.by))
}
