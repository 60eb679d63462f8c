package main

import (
	"fmt"
	"slices"

	"github.com/spf13/pflag"

	"github.com/ringtap/ringtap/ftrace"
	"github.com/ringtap/ringtap/internal/questions/block"
	"github.com/ringtap/ringtap/internal/questions/io"
	"github.com/ringtap/ringtap/internal/table"
)

const ioUsage = `io [flags] [-- COMMAND ARG...]

Adds up the bytes that system calls move, by process and call stack: read, write, and
their vector, positioned, socket and message kin, sendfile, splice, tee, vmsplice and
copy_file_range. IOSize is what they moved, IOCount the calls that moved some or
no bytes, IOTime the time inside of all of them, IOErrors the calls that failed.

  ringtap io -d 10                    the whole host
  ringtap io -p 4242 --by file        one process, by the files that it reads and writes
  ringtap io --out i.html -- ./prog   a command, as a flame graph

A call that is under way when a window ends counts its time in each, its bytes in the
last. One that was under way before the run began has no stack. A call that a signal
interrupts has failed, though the kernel may start it again. Before Linux 6.3 the bytes
of sendmmsg and recvmmsg are not known and count as 0. A request of io_uring counts from
its submission to its completion, by the stack that submitted it. Not seen: what a program
moves through mapped memory or io_submit, and the system calls of 32-bit programs.

--by looks a descriptor up in /proc when it is first used, some milliseconds after the
call. Of what was closed by then the call that opened it tells the path, where its text
could be had (~ before it: read from memory a moment later), or the type, or it is
[closed]; what took its place may be taken for it.

--block shows what disks are asked for instead, by the stack that asked, device and kind:
BlockSize, BlockCount (requests), and BlockTime from their issue to their completion.
Bytes are of the stacks of all that was merged to a request, the request itself and its
time are of the first. A flush is of who asked for one last. What is written back later
is of the kernel's threads. Devices that pass on what they are asked for, such as the
device mapper's, are seen by the disks below.
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
	flags.StringVar(&q.by, "by", "", "io: split the rows by `what` is read and written: type (of file), fd (its number), file (its path)")
	flags.BoolVar(&q.block, "block", false, "io: what block devices are asked for, and how long they take, in place of system calls")
}

func (q *ioQuestion) take(args []string) ([]string, error) { return args, nil }

func (q *ioQuestion) validate() error {
	if !slices.Contains([]io.By{io.ByNothing, io.ByType, io.ByFD, io.ByFile}, io.By(q.by)) {
		return usagef("--by %q: one of type, fd, file", q.by)
	}
	if q.block && q.by != "" {
		return usagef("--block and --by exclude each other: rows of --block are split by device")
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
	collector, err := io.New(formats, io.By(q.by), stacks)
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
	sayBlind(a, tracefs, "a request that is completed then counts as under way")
	collector, err := block.New(formats, a.wholeSystem(), a.stacks())
	if err != nil {
		return nil, err
	}
	return []table.Collector{collector}, nil
}
