package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"strings"
	"time"

	"golang.org/x/sys/unix"

	"github.com/ringtap/ringtap/internal/cli/launch"
	"github.com/ringtap/ringtap/internal/cli/streams"
	"github.com/ringtap/ringtap/internal/record"
)

const recordUsage = `record [options] [--] [COMMAND ARG...]

Record samples into a file, to look at them later or on another machine. The file is perf's
perf.data: 'ringtap report', 'flame', 'diff' and 'script' read it, and so do perf and the tools
that read its recordings. Most options are those of perf record.

  ringtap record -d 5                         the whole host for five seconds
  ringtap record -a sleep 5                   the same, as with perf
  ringtap record -p 4242 -d 10 -o slow.data   a process
  ringtap record -F 999 -- make -j4           a command from beginning to end
  ringtap record -e sched:sched_switch -a sleep 1
  ringtap record -e 'p:libpq:PQexec query:string' -p app -d 10
  ssh web1 ringtap record -o - -d 5 | ringtap report -

Without a target, a COMMAND is what is recorded; with -a, -p, -t or -G it only says how long.

Stacks are unwound while ringtap records, as on-cpu --unwind does, and the file has callchains:
it is small, and its reader needs no copy of the programs to know who called whom. Stacks of more
than 64 KiB are cut on a whole host, where reading them costs most. --no-unwind writes the
registers and copies of the stack instead, as perf record --call-graph dwarf does.

An EVENT that starts with p:, r: or u: is a probe, as ringtap probe and uprobe take it, with the
arguments to fetch: each hit is a sample of probe:FUNCTION. One --event takes one probe.

Functions of Python, Node.js, Java, PHP, Ruby and Perl are in the stacks, read from the memory of
the programs. perf shows them as objects: [unknown] (/app/handler.py:handle).

At the end, ringtap writes the names of the functions into the file, so that ringtap needs none of
the recorded files to read it; perf looks for them. If the recorder is killed, the file lacks its
last second and the names, which are then looked up as ringtap report --help says.
`

// recordEvents is ringtap record.
func recordEvents(ctx context.Context, out *console, args []string) error {
	var r recordFlags
	flags := newFlags(out, "record", recordUsage)
	r.add(flags)
	flags.SetInterspersed(false) // the command's own options follow it
	if err := parse(flags, args); err != nil {
		return err
	}
	timer, err := r.takeCommand(flags)
	if err != nil {
		return err
	}
	if err := r.validate(flags, out); err != nil {
		return err
	}
	target, command, err := r.targetFlags.open()
	if err != nil {
		return err
	}
	defer launch.Leave(command)
	removeStale()
	opts, release, err := r.options(out, target)
	if err != nil {
		return err
	}
	defer release()
	r.sayChildren(out)
	ctx, end := context.WithCancel(ctx)
	defer end()
	status := streams.NewStatus(out.stderr, out.live)
	begin := time.Now()
	opts.Progress = func(p record.Progress) { status.Show(recordProgress{p, time.Since(begin)}) }
	opts.Enabled = func() error { return timer.start(end) }
	out.recording.Store(true)
	result, err := record.Run(ctx, *opts)
	status.Close()
	timer.stop()
	if errors.Is(err, unix.EPIPE) && r.output == "-" {
		return nil // the reader closed the pipe, as head(1) does: not a failure
	}
	if err != nil {
		return err
	}
	r.say(out, result)
	return launch.End(ctx, out.stderr, command)
}

// recordProgress is how far a recording is, as the text of a terminal's status line.
type recordProgress struct {
	record.Progress
	elapsed time.Duration
}

func (r recordProgress) String() string {
	return fmt.Sprintf("recording %s: %d samples, %s (Ctrl-C to end)", r.elapsed.Round(time.Second), r.Samples, sizeText(r.Bytes))
}

// sizeText returns a number of bytes for people.
func sizeText(bytes int64) string {
	if bytes < 1<<20 {
		return fmt.Sprintf("%d KiB", (bytes+1023)>>10)
	}
	return fmt.Sprintf("%.1f MiB", float64(bytes)/(1<<20))
}

// outputName returns the name of the output for messages.
func (r *recordFlags) outputName() string {
	if r.output == "-" {
		return "standard output"
	}
	return r.output
}

// say prints what was recorded, and what is missing in it.
func (r *recordFlags) say(out *console, result *record.Result) {
	notes := result.Notes
	if r.verbose {
		notes = append(notes, result.Details...)
	}
	for _, note := range notes {
		out.note(note)
	}
	var counts []string
	for i := range result.Account.Events {
		counts = append(counts, fmt.Sprintf("%d of %s", result.Account.Events[i].Received, r.recorded[i]))
	}
	all := result.Account.All()
	size := result.Bytes
	if info, err := os.Stat(r.output); err == nil && r.output != "-" {
		size = info.Size() // with the names
	}
	fmt.Fprintf(out.stderr, "wrote %s: %s; samples: %s\n", r.outputName(), sizeText(size), strings.Join(counts, ", "))
	if all.Lost > 0 {
		fmt.Fprintf(out.stderr, "lost %d of %d samples, which came faster than ringtap could read them\n", all.Lost, all.Lost+all.Received)
	}
	if all.Throttled > 0 {
		fmt.Fprintf(out.stderr, "the kernel stopped sampling %d times for a moment, because samples came too fast\n", all.Throttled)
	}
	if result.Cut > 0 {
		fmt.Fprintf(out.stderr, "%d of %d user stacks are cut short: they are deeper than what ringtap copies\n", result.Cut, all.Received)
	}
	if result.Full {
		fmt.Fprintf(out.stderr, "ended at --max-size %s\n", &r.maxSize)
	}
	sayNotes(out.stderr, result.Account.Notes())
}
