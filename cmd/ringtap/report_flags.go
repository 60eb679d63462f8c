package main

import (
	"errors"
	"fmt"
	"math"
	"strings"

	"github.com/spf13/pflag"

	"github.com/ringtap/ringtap/internal/cli/manual"
	"github.com/ringtap/ringtap/internal/output"
	"github.com/ringtap/ringtap/internal/profile"
	"github.com/ringtap/ringtap/internal/profile/timeline"
	"github.com/ringtap/ringtap/internal/text/escape"
)

// reportFlags are the flags of every command that makes a profile: what it shows and where it is
// written.
type reportFlags struct {
	user, kernel bool
	top          int
	topGiven     bool // by -o
	outputs      []string
	recorded     bool // the command reads recordings, which have times: see output.HasTimes
	metric       string
	inlines      bool
	memory       int // MiB
	verbose      bool
	tables       bool
	color        string
}

// maxMemory is the largest --max-memory in MiB: its bytes must fit into an int.
const maxMemory = math.MaxInt >> 20

// addStacks defines the flags of what stacks show.
func (r *reportFlags) addStacks(flags *pflag.FlagSet) {
	addUser(flags, &r.user, " (alone, unless -k is given too; default: both)")
	addKernel(flags, &r.kernel, " (alone, unless -u is given too; default: both)")
	flags.BoolVar(&r.inlines, "inlines", false, "show inlined functions, and source lines in the forms that have them")
}

// addOutput defines the flags of the output group.
func (r *reportFlags) addOutput(flags *pflag.FlagSet, tablesDetail string) {
	flags.StringArrayVar(&r.outputs, "out", nil, "write the whole run to `FILE`; the extension selects the format: "+formsText()+" (may be repeated)")
	addTop(flags, &r.top, "o", 10, ": functions, or rows of the tables")
	flags.StringVar(&r.metric, "metric", "", "rank by `COLUMN`, and write it to formats with a single value (default: the first column)")
	flags.BoolVar(&r.tables, "tables", false, "print three tables with exact addresses, for programs"+tablesDetail)
	addColor(flags, &r.color)
	addVerbose(flags, &r.verbose, "v")
	manual.SetGroup(flags, outputGroup)
}

// formsText lists the formats of --out.
func formsText() string {
	var all, timed []string
	for _, ending := range output.Forms() {
		if output.HasTimes(ending) {
			timed = append(timed, ending)
		} else {
			all = append(all, ending)
		}
	}
	return strings.Join(all, " ") + ", and of recordings " + strings.Join(timed, " ")
}

// validate checks the flags before anything is opened. A value that makes no sense is a
// *usage.Error. It also checks that the files can be written, so that a long run does not
// fail at its end.
func (r *reportFlags) validate(flags *pflag.FlagSet) error {
	r.topGiven = flags.Changed("top")
	switch {
	case r.top < 1:
		return usagef("-o %d: at least one row", r.top)
	case r.memory < 1 || r.memory > maxMemory:
		return usagef("--max-memory %d: from 1 MiB to %d", r.memory, maxMemory)
	}
	if err := checkColor(r.color); err != nil {
		return err
	}
	if path := r.timed(); path != "" && !r.recorded {
		return usagef("--out %s: a live run keeps sums, and no times; ringtap record -o perf.data, then ringtap flame --out %s perf.data", path, path)
	}
	return checkOutputs(r.outputs, output.CheckPath)
}

// timed returns the first file of --out that needs the times of samples, or "".
func (r *reportFlags) timed() string {
	for _, path := range r.outputs {
		if output.HasTimes(path) {
			return path
		}
	}
	return ""
}

// checkOutputs checks the files of --out.
func checkOutputs(paths []string, check func(path string) error) error {
	for _, path := range paths {
		var form *output.FormError
		err := check(path)
		if errors.As(err, &form) {
			return usagef("--out: %w", err)
		}
		if err != nil {
			return fmt.Errorf("--out: %w", err)
		}
	}
	return nil
}

// write writes a profile to every file of --out. If one file can't be written, it still writes the
// others. p is nil if there are no files. t is nil unless a file needs it.
func (r *reportFlags) write(out *console, p *profile.Profile, t *timeline.Timeline) error {
	if p == nil {
		return nil
	}
	var errs []error
	for _, path := range r.outputs {
		if err := output.WriteFile(path, p, output.FileOptions{Metric: r.metric, Inlines: r.inlines, Timeline: t}); err != nil {
			errs = append(errs, err)
			continue
		}
		if r.metric == "" && len(p.Metrics) > 1 && output.HasOneMetric(path) {
			fmt.Fprintf(out.stderr, "wrote %s with %s; --metric selects another column\n", path, escape.Text(p.Metrics[0].Name))
			continue
		}
		fmt.Fprintf(out.stderr, "wrote %s\n", path)
	}
	return errors.Join(errs...)
}
