package main

import (
	"fmt"
	"slices"

	"github.com/spf13/pflag"

	"github.com/ringtap/ringtap/ftrace"
	"github.com/ringtap/ringtap/internal/process"
	"github.com/ringtap/ringtap/internal/questions/block"
	"github.com/ringtap/ringtap/internal/questions/io"
	"github.com/ringtap/ringtap/internal/table"
)

const ioUsage = `io [options] [COLLECTOR...] [-- COMMAND ARG...]

Add up the bytes that system calls move, by process and call stack: read, write, their
vector, positioned, socket and message variants, sendfile, splice, tee, vmsplice and
copy_file_range. IOSize is the bytes moved, IOCount the calls that did not fail, IOTime
the time in all calls, and IOErrors the calls that failed.

  ringtap io -d 10                    the whole host
  ringtap io -p 4242 --by file        one process, by the files it reads and writes
  ringtap io --block -d 10            what is asked of disks, and how long it takes
  ringtap io --out i.html -- ./prog   a command, as a flame graph

If a call spans several intervals, its time counts in each and its bytes count in the
last. A call that began before the run has no stack. A call that a signal interrupts has
failed, even if the kernel restarts it. Before Linux 6.3 the bytes of sendmmsg and
recvmmsg are unknown and count as 0. A request of io_uring counts from its submission
to its completion, by the stack that submitted it. ringtap does not see what a program
moves through mapped memory or io_submit, or the system calls of 32-bit programs.

--by looks up a descriptor in /proc when it is first used, some milliseconds after the
call. If it was closed by then, the call that opened it tells the path, where ringtap could
read it (a note counts the paths read from memory a moment later), or the type; otherwise
the row says [closed]. A file that took its place may be mistaken for it.

--block shows requests to block devices instead, by the stack that made them, the device
and the kind: BlockSize, BlockCount, and BlockTime from issue to completion. A request's
bytes count for all stacks that were merged into it; the request and its time count for
the first. A flush counts for the stack that asked last. Later writeback counts for the
kernel's threads. Stacked devices, such as the device mapper's, appear as the disks below
them.
`

// The copies of stacks to begin with where a process or command is watched, and how
// many bytes a second of them are too many: those take a twentieth of a CPU. A Java
// thread's read has 8 KiB for the bytes on its stack, and a server does 10,000 a second.
// Of the whole system so many would not be read in time where all CPUs are busy.
const (
	processCopy   = 4 << 10
	processBudget = 256 << 20
	systemBudget  = 64 << 20
)

// ioQuestion is the question of io.
type ioQuestion struct {
	by    string
	block bool
}

func (q *ioQuestion) flags(flags *pflag.FlagSet) {
	flags.StringVar(&q.by, "by", "", "io: split the rows by `WHAT` is read and written: type (of file), fd (its number), or file (its path)")
	flags.BoolVar(&q.block, "block", false, "io: show requests to block devices instead of system calls")
}

func (q *ioQuestion) take(args []string) ([]string, error) { return args, nil }

func (q *ioQuestion) validate() error {
	if !slices.Contains([]io.By{io.ByNothing, io.ByType, io.ByFD, io.ByFile}, io.By(q.by)) {
		return usagef("--by %q: one of type, fd, file", q.by)
	}
	if q.block && q.by != "" {
		return usagef("give only one of --block and --by: --block splits rows by device")
	}
	return nil
}

func (q *ioQuestion) make(a *asking) ([]table.Collector, error) {
	tracefs, _, err := ftrace.Mount()
	if err != nil {
		return nil, err
	}
	if q.block {
		return q.makeBlock(a, tracefs)
	}
	formats, err := io.ReadFormats(tracefs)
	if err != nil {
		return nil, err
	}
	if formats.Received == nil {
		a.out.logger(a.verbose).Info("the bytes of sendmmsg and recvmmsg are not known")
	}
	stacks := a.stacks()
	stacks.Kernel = a.kernel // it is the tracepoint's own: the same for every call
	stacks.Budget = systemBudget
	if !a.wholeSystem() {
		// What is short shall have whole stacks too, unless it storms.
		stacks.Copy, stacks.Budget = processCopy, processBudget
	}
	collector, err := io.New(process.Host{}, formats, io.By(q.by), stacks)
	if err != nil {
		return nil, err
	}
	if q.by == string(io.ByFile) {
		stop, err := collector.ReadPaths(tracefs, a.out.logger(a.verbose))
		if err != nil {
			return nil, err
		}
		a.closing(stop)
	}
	for _, pid := range a.watched() {
		collector.Look(pid)
	}
	return []table.Collector{collector}, nil
}

// makeBlock makes the collector of --block.
func (q *ioQuestion) makeBlock(a *asking, tracefs *ftrace.FS) ([]table.Collector, error) {
	formats, err := block.ReadFormats(tracefs)
	if err != nil {
		return nil, fmt.Errorf("--block: %w (a kernel without CONFIG_BLOCK has none)", err)
	}
	sayBlind(a, tracefs, "a request that completes then still counts as in progress")
	collector, err := block.New(formats, a.wholeSystem(), a.stacks())
	if err != nil {
		return nil, err
	}
	return []table.Collector{collector}, nil
}
