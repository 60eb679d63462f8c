package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"

	"github.com/spf13/pflag"

	"github.com/ringtap/ringtap/internal/cli/manual"
	"github.com/ringtap/ringtap/internal/engine/recording"
	"github.com/ringtap/ringtap/internal/host/kcore"
	"github.com/ringtap/ringtap/internal/object/disasm"
	"github.com/ringtap/ringtap/internal/perfdata"
	"github.com/ringtap/ringtap/internal/trace/annotate"
)

const annotateUsage = `annotate [options] [FUNCTION] [FILE]

Show which instructions and source lines of a function the samples of a recording are at: a
perf.data file of ringtap record or perf record. Without FILE, read perf.data in the current
directory; - is standard input. Without FUNCTION, show the hottest one.

  ringtap annotate                             the hottest function of perf.data
  ringtap annotate compute                     one function
  ringtap annotate libc:malloc app.data        a function of one file
  ringtap annotate --all compute | less        all instructions, not only the hot ones
  ringtap annotate -M intel compute            Intel's syntax

First come the hottest source lines, then the code, with source lines if the file has debug
information. A percentage is a share of the function's samples, by their periods, as in perf
annotate. It counts the instruction where the sample was taken, which is often the one after the
slow one. > marks targets of jumps. inlined names the calls that the compiler replaced by code.

FUNCTION is a name as in ringtap report or in the symbol table, or FILE:NAME. Of several functions
with that name, the hottest is shown.

Files are found as by ringtap report. Functions of the kernel are read from its memory (/proc/kcore)
if it has not been booted since the recording. Generated code (Java, Node.js) and interpreted
functions (Python) cannot be annotated: no file has their machine code.
`

// annotateFlags are the flags of ringtap annotate.
type annotateFlags struct {
	from    recordingFlags
	all     bool
	syntax  string
	event   string
	top     int
	color   string
	verbose bool
}

func (a *annotateFlags) add(flags *pflag.FlagSet) {
	a.from.add(flags)
	flags.BoolVar(&a.all, "all", false, "show all instructions, not only those around the hot ones")
	flags.StringVarP(&a.syntax, "disassembler-style", "M", "att", "write x86 instructions in the `SYNTAX` att or intel")
	manual.SetValues(flags, "disassembler-style", "att", "intel")
	flags.StringVar(&a.event, "metric", "", "rank by `COLUMN`, an event of the recording (default: the first with samples)")
	addTop(flags, &a.top, "o", 10, ": source lines")
	addColor(flags, &a.color)
	addVerbose(flags, &a.verbose, "v")
	manual.SetGroup(flags, outputGroup)
}

// annotateFunction is ringtap annotate.
func annotateFunction(ctx context.Context, out *console, args []string) error {
	var a annotateFlags
	flags := newFlags(out, "annotate", annotateUsage)
	a.add(flags)
	if err := parse(flags, args); err != nil {
		return err
	}
	function, rest := functionAndFile(flags.Args())
	path, err := a.from.take(rest)
	if err != nil {
		return err
	}
	switch {
	case a.top < 1:
		return usagef("-o %d: at least one row", a.top)
	case a.syntax != "att" && a.syntax != "intel":
		return usagef("-M %s: att or intel", a.syntax)
	}
	if err := checkColor(a.color); err != nil {
		return err
	}
	file, err := perfdata.Open(path)
	if errors.Is(err, os.ErrNotExist) && path == defaultRecording {
		return errNoRecording
	}
	if err != nil {
		return err
	}
	return errors.Join(a.print(ctx, out, file, function), file.Close())
}

// functionAndFile splits the arguments. A single argument that is a recording is the file.
func functionAndFile(args []string) (function string, rest []string) {
	if len(args) == 0 || len(args) == 1 && isRecording(args[0]) {
		return "", args
	}
	return args[0], args[1:]
}

// isRecording reports whether a word is the name of a recording: "-", a directory with one, or a file
// that starts like one.
func isRecording(word string) bool {
	if word == "-" {
		return true
	}
	info, err := os.Stat(word)
	if err != nil || !info.Mode().IsRegular() {
		return err == nil && info.IsDir() && strings.Contains(word, "/")
	}
	f, err := os.Open(word)
	if err != nil {
		return false
	}
	defer f.Close()
	start := make([]byte, len(perfdata.Magic))
	_, err = io.ReadFull(f, start)
	return err == nil && string(start) == perfdata.Magic
}

// print prints the listing of a function, and then what the reader must know about it.
func (a *annotateFlags) print(ctx context.Context, out *console, file *perfdata.File, function string) error {
	source, err := recording.New(file, recording.Options{Files: a.from.files(), Kallsyms: a.from.kallsyms, Keep: a.from.keep})
	if err != nil {
		return err
	}
	o := annotate.Options{Source: source, Events: source.Events, Function: function, Event: a.event, Symfs: a.from.symfs,
		Made: file.Modified(), DebugFiles: a.from.debugFiles, Logger: out.logger(a.verbose),
		KernelMemory: func() (*kcore.Reader, error) { return recordedKernel(source.Kernel()).Memory() }}
	if a.syntax == "intel" {
		o.Syntax = disasm.Intel
	}
	listing, account, err := annotate.Run(ctx, o)
	notes := recordingNotes(file, source, account.All().Lost, account.Notes())
	switch option := a.from.selecting(); {
	case errors.Is(err, annotate.ErrNoSamples) && option != "":
		err = fmt.Errorf("%w match %s", err, option)
	case errors.Is(err, annotate.ErrNoSamples):
		err = fmt.Errorf("the recording has %w", err)
	case err == nil:
		notes = append(listing.Notes(), notes...)
	}
	if err == nil {
		err = ignoreClosedPipe(listing.Write(out.stdout, a.options(out, notes)))
	}
	writeNotes(out.stderr, notes, out.noteWidth())
	return errors.Join(err, source.Damage())
}

// options returns how the listing is written above the notes.
func (a *annotateFlags) options(out *console, notes []string) annotate.TextOptions {
	o := annotate.TextOptions{All: a.all, Top: a.top, Color: out.colors(a.color), Width: out.width}
	if out.height > 0 {
		const prompt = 1
		o.Height = out.height - prompt
		if out.live {
			var below strings.Builder
			writeNotes(&below, notes, out.noteWidth())
			o.Height -= strings.Count(below.String(), "\n")
		}
	}
	return o
}
