package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/spf13/pflag"

	"github.com/ringtap/ringtap/internal/cli/manual"
	"github.com/ringtap/ringtap/internal/output"
	"github.com/ringtap/ringtap/internal/profile/diff"
	"github.com/ringtap/ringtap/internal/text/escape"
)

const diffUsage = `diff [options] BEFORE AFTER

Compare two profiles, and show which functions have a larger or smaller share of the total than
before. Each file is a recording or a profile, as ringtap report reads them; - is
standard input.

  ringtap diff before.data after.data           what changed in the functions' own code
  ringtap diff --total before.data after.data   including the functions that they call
  ringtap diff --all old.pb.gz new.pb.gz        all functions, of pprof profiles
  ringtap diff --out diff.svg before.data after.data

CHANGE is in percentage points. In 95 of 100 comparisons, the true change is within the margin
after ±. Functions that changed by no more than their margin are not shown, because two profiles
of the same program differ that much by chance. Of 20 functions that did not change, one may
still be shown. The margin knows nothing of other differences between two runs, such as their
input or what else the machine did.

Shares do not depend on how long each profile took. If a function becomes faster, the shares of
all others grow.

--out FILE.svg is a flame graph: widths are shares after, red is more than before and blue is
less. .folded is for flamegraph.pl, as difffolded.pl -n writes it. .json has all functions.

Functions are matched by name and by the name of their file. A function without samples in one
profile is new or gone.

The margin depends on the number of samples. If their periods differ, ringtap shows the number
of equal samples that would be as exact. It takes each count of folded stacks for one sample.
`

// diffFlags are the flags of ringtap diff.
type diffFlags struct {
	total, all bool
	outputs    []string
}

// diffProfiles is ringtap diff.
func diffProfiles(ctx context.Context, out *console, args []string) error {
	l := loader{out: out, show: &reportFlags{}, from: &recordingFlags{}}
	var d diffFlags
	flags := newFlags(out, "diff", diffUsage)
	d.add(flags, &l)
	before, after, err := d.parse(flags, args, &l)
	if err != nil {
		return err
	}
	metric := l.show.metric
	l.show.metric = "" // loading checks it without the file's name
	a, damageA := l.load(ctx, before)
	if a == nil {
		return damageA
	}
	b, damageB := l.load(ctx, after)
	if b == nil {
		return errors.Join(damageA, damageB)
	}
	sides := [2]diff.Side{{Name: before, Profile: a}, {Name: after, Profile: b}}
	if err := chooseMetrics(&sides, metric); err != nil {
		return err
	}
	both := diff.New(sides[0], sides[1])
	return errors.Join(d.write(out, l.show, both, sides), damageA, damageB)
}

func (d *diffFlags) add(flags *pflag.FlagSet, l *loader) {
	l.from.addSymfs(flags)
	l.show.addStacks(flags)
	l.addMemory(flags)
	flags.StringArrayVar(&d.outputs, "out", nil, "write the whole run to `FILE`; the extension selects the format: "+strings.Join(output.DiffForms(), " ")+" (may be repeated)")
	flags.BoolVar(&d.total, "total", false, "compare shares that include callees")
	flags.BoolVar(&d.all, "all", false, "show all: also functions whose change may be chance")
	addTop(flags, &l.show.top, "o", 10, " functions")
	flags.StringVar(&l.show.metric, "metric", "", "rank by `COLUMN` (default: the first column that both have)")
	addColor(flags, &l.show.color)
	addVerbose(flags, &l.show.verbose, "v")
	manual.SetGroup(flags, outputGroup)
}

func (d *diffFlags) parse(flags *pflag.FlagSet, args []string, l *loader) (before, after string, err error) {
	if err := parse(flags, args); err != nil {
		return "", "", err
	}
	switch files := flags.Args(); {
	case len(files) != 2:
		return "", "", usagef("want two files, BEFORE and AFTER, not %d", len(files))
	case files[0] == "-" && files[1] == "-":
		return "", "", usagef("only one of the files can be standard input")
	default:
		before, after = files[0], files[1]
	}
	if err := errors.Join(l.from.checkSymfs(), l.show.validate(flags)); err != nil {
		return "", "", err
	}
	if err := checkOutputs(d.outputs, output.CheckDiffPath); err != nil {
		return "", "", err
	}
	if d.all && !l.show.topGiven {
		l.show.top = 0
	}
	return before, after, nil
}

// chooseMetrics sets the metrics that are compared: the one of that name, or the first that both
// profiles have samples of, or the first of each.
func chooseMetrics(sides *[2]diff.Side, name string) error {
	before, after := &sides[0], &sides[1]
	if name == "" {
		for i := range before.Profile.Metrics {
			same, err := output.FindMetric(before.Profile.Metrics[i].Name, after.Profile.Metrics)
			if err == nil && diff.Samples(before.Profile, i) > 0 && diff.Samples(after.Profile, same) > 0 {
				before.Metric, after.Metric = i, same
				break
			}
		}
		return nil
	}
	for i := range sides {
		metric, err := output.FindMetric(name, sides[i].Profile.Metrics)
		if err != nil {
			return usagef("--metric: %s: %w", sides[i].Name, err)
		}
		sides[i].Metric = metric
	}
	return nil
}

// write writes the table, and then to standard error what a reader must know about the profiles.
func (d *diffFlags) write(out *console, show *reportFlags, both *diff.Diff, sides [2]diff.Side) error {
	opts := output.DiffOptions{TableOptions: newPrinter(out, show, true, nil, nil).tables, Color: out.colors(show.color), Total: d.total, All: d.all}
	opts.Width = cmp.Or(out.width, pipeWidth)
	err := ignoreClosedPipe(output.WriteDiff(out.stdout, both, opts))
	for i := range sides {
		err = errors.Join(err, writeAccountsOf(out, &sides[i], show.verbose))
	}
	if names := [2]string{both.Profile.Metrics[0].Name, both.Profile.Metrics[1].Name}; names[0] != names[1] {
		out.note(fmt.Sprintf("the metrics differ: shares of %s are compared with shares of %s", names[0], names[1]))
	}
	if both.ByName {
		out.note("functions are matched by name alone: one of the profiles does not say which files they are in")
	}
	for _, path := range d.outputs {
		if e := output.WriteDiffFile(path, both, opts); e != nil {
			err = errors.Join(err, e)
			continue
		}
		fmt.Fprintf(out.stderr, "wrote %s\n", path)
	}
	return err
}

// writeAccountsOf writes the accounts and notes of a profile with the name of its file.
func writeAccountsOf(out *console, s *diff.Side, verbose bool) error {
	write := output.WriteBrief
	if verbose {
		write = output.WriteAccounts
	}
	var text strings.Builder
	if err := write(&text, s.Profile, 0); err != nil {
		return err
	}
	for line := range strings.Lines(text.String()) {
		line = strings.TrimSuffix(line, "\n")
		note, isNote := strings.CutPrefix(line, "note: ")
		line = escape.Text(s.Name) + ": " + note
		if isNote {
			line = "note: " + line
		}
		fmt.Fprintln(out.stderr, output.Wrap(line, out.noteWidth()))
	}
	return nil
}
