package main

import (
	"bytes"
	"cmp"
	"errors"
	"fmt"
	"io"
	"slices"

	"github.com/ringtap/ringtap/internal/escape"
	"github.com/ringtap/ringtap/internal/hist"
	"github.com/ringtap/ringtap/internal/profile"
	"github.com/ringtap/ringtap/internal/report"
	"github.com/ringtap/ringtap/internal/table"
)

// pipeWidth is the width in columns of a report that does not go to a terminal.
const pipeWidth = 80

// printer prints the reports of a run: the three tables or the view for a person on standard
// output, and after them, on standard error, what they are based on and what is missing.
type printer struct {
	out        *console
	flags      *collectorFlags
	collectors []table.Collector
	early      []string // notes from before the run, to be printed after the first report
	view       report.ViewOptions
	tables     report.TableOptions
	reports    int
	last       *profile.Profile // the only report of a run, whose accounts are not printed yet
}

func newPrinter(out *console, flags *collectorFlags, collectors []table.Collector, early []string) *printer {
	p := &printer{out: out, flags: flags, collectors: collectors, early: early}
	p.tables = report.TableOptions{Drawn: out.drawn, Width: out.width, Top: flags.top, User: flags.user, Kernel: flags.kernel,
		Inlines: flags.inlines, Metric: flags.metric}
	p.view = report.ViewOptions{TableOptions: p.tables, Color: out.colors(flags.color), Exact: flags.topGiven}
	p.view.Width = cmp.Or(out.width, pipeWidth)
	return p
}

// write prints the report of one interval.
func (p *printer) write(shown *profile.Profile) error {
	p.reports++
	var times, below bytes.Buffer
	if err := hist.WriteTimes(&times, shown, p.collectors); err != nil {
		return err
	}
	err := p.writeReport(shown, &times, &below)
	if err == nil {
		_, err = p.out.stdout.Write(times.Bytes())
	}
	if err != nil {
		return err
	}
	if p.flags.tables {
		if err := report.WriteShown(p.out.stderr, shown, p.tables); err != nil {
			return err
		}
	}
	if p.flags.interval == 0 {
		p.last = shown // the end of the run knows what was lost
		return nil
	}
	p.writeEarly()
	return p.writeAccounts(p.out.stderr, shown)
}

// writeReport prints the tables, or the view in the lines of the terminal that what follows
// it leaves.
func (p *printer) writeReport(shown *profile.Profile, times, below *bytes.Buffer) error {
	if p.flags.tables {
		return report.WriteTables(p.out.stdout, shown, p.tables)
	}
	view := p.view
	view.Height = p.out.height
	view.Below = bytes.Count(times.Bytes(), []byte("\n"))
	if p.out.live {
		writeNotes(below, p.early, p.out.noteWidth())
		if err := p.writeAccounts(below, shown); err != nil {
			return err
		}
		view.Below += bytes.Count(below.Bytes(), []byte("\n")) + len(p.flags.outputs)
	}
	return report.WriteView(p.out.stdout, shown, view)
}

// writeAccounts writes what was received and what is missing, and the notes.
func (p *printer) writeAccounts(w io.Writer, shown *profile.Profile) error {
	width := p.out.noteWidth()
	if p.flags.tables || p.flags.verbose {
		return report.WriteAccounts(w, shown, width)
	}
	return report.WriteBrief(w, shown, width)
}

// writeEarly prints the notes from before the run, once.
func (p *printer) writeEarly() {
	writeNotes(p.out.stderr, p.early, p.out.noteWidth())
	p.early = nil
}

// writeNotes writes notes in lines of that width.
func writeNotes(w io.Writer, notes []string, width int) {
	for _, note := range notes {
		fmt.Fprintln(w, report.Wrap("note: "+escape.Text(note), width))
	}
}

// end prints the accounts of the whole run: below the only report, or in lines of their own
// after several reports.
func (p *printer) end(accounts []profile.Account) error {
	p.writeEarly()
	if p.last != nil && p.reports == 1 {
		whole := *p.last
		whole.Accounts = slices.Clone(accounts)
		return p.writeAccounts(p.out.stderr, &whole)
	}
	var errs []error
	for i := range accounts {
		if a := &accounts[i]; p.reports > 1 || a.Lost+a.Throttled > 0 {
			errs = append(errs, report.WriteAccount(p.out.stderr, a))
		}
	}
	return errors.Join(errs...)
}
