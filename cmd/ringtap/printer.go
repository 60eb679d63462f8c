package main

import (
	"bytes"
	"cmp"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/ringtap/ringtap/internal/collect/table"
	"github.com/ringtap/ringtap/internal/output"
	"github.com/ringtap/ringtap/internal/profile"
	"github.com/ringtap/ringtap/internal/text/escape"
	"github.com/ringtap/ringtap/internal/trace/hist"
)

// pipeWidth is the width in columns of a report that does not go to a terminal.
const pipeWidth = 80

// printer prints the reports of a run. The three tables, or the view for a person, go to
// standard output. Then the accounts (what was received and what is missing) and the notes
// go to standard error.
type printer struct {
	out        *console
	flags      *reportFlags
	once       bool // there is one report, at the end of the run
	collectors []table.Collector
	early      []string // notes from before the run, to be printed after the first report
	view       output.ViewOptions
	tables     output.TableOptions
	height     int // of the terminal; 0: no limit
	reports    int
	last       *profile.Profile // the only report of a run, whose accounts are not printed yet
}

// newPrinter returns a printer. once says that the run has one report, at its end.
func newPrinter(out *console, flags *reportFlags, once bool, collectors []table.Collector, early []string) *printer {
	p := &printer{out: out, flags: flags, once: once, height: out.height, collectors: collectors, early: early}
	p.tables = output.TableOptions{Drawn: out.drawn, Width: out.width, Top: flags.top, User: flags.user, Kernel: flags.kernel,
		Inlines: flags.inlines, Metric: flags.metric}
	p.view = output.ViewOptions{TableOptions: p.tables, Color: out.colors(flags.color), Exact: flags.topGiven}
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
		if err := output.WriteShown(p.out.stderr, shown, p.tables); err != nil {
			return err
		}
	}
	if p.once {
		p.last = shown // what was lost is known only at the end of the run
		return nil
	}
	p.writeEarly()
	return p.writeAccounts(p.out.stderr, shown)
}

// writeEach prints the only report of a run, one table for each metric, unless the user chose one.
func (p *printer) writeEach(shown *profile.Profile) error {
	if p.flags.metric != "" || len(shown.Metrics) == 1 || p.flags.tables {
		return p.write(shown)
	}
	p.reports, p.last = 1, shown
	var none, below bytes.Buffer
	if p.height > 0 { // a terminal has room for one
		var others []string
		for i := range shown.Metrics[1:] {
			others = append(others, escape.Text(shown.Metrics[1+i].Name))
		}
		fmt.Fprintf(&below, "Also recorded: %s; --metric shows one, and a pipe (| less) all.\n", strings.Join(others, ", "))
		if err := p.writeReport(shown.Column(0), &below, &none); err != nil {
			return err
		}
		_, err := p.out.stdout.Write(below.Bytes())
		return err
	}
	for i := range shown.Metrics {
		one := shown.Column(i)
		if len(one.Rows) == 0 {
			continue
		}
		if i > 0 {
			if _, err := io.WriteString(p.out.stdout, "\n"); err != nil {
				return err
			}
		}
		if err := p.writeReport(one, &none, &none); err != nil {
			return err
		}
	}
	return nil
}

// writeReport prints the tables or the view. The view leaves room on the terminal for the
// text after it: times, the histograms, and below, which writeReport fills to count its lines.
func (p *printer) writeReport(shown *profile.Profile, times, below *bytes.Buffer) error {
	if p.flags.tables {
		return output.WriteTables(p.out.stdout, shown, p.tables)
	}
	view := p.view
	view.Height = p.height
	view.Below = bytes.Count(times.Bytes(), []byte("\n"))
	if p.out.live {
		writeNotes(below, p.early, p.out.noteWidth())
		if err := p.writeAccounts(below, shown); err != nil {
			return err
		}
		view.Below += bytes.Count(below.Bytes(), []byte("\n")) + len(p.flags.outputs)
	}
	return output.WriteView(p.out.stdout, shown, view)
}

// writeAccounts writes what was received and what is missing, and the notes.
func (p *printer) writeAccounts(w io.Writer, shown *profile.Profile) error {
	width := p.out.noteWidth()
	if p.flags.tables || p.flags.verbose {
		return output.WriteAccounts(w, shown, width)
	}
	return output.WriteBrief(w, shown, width)
}

// writeEarly prints the notes from before the run, once.
func (p *printer) writeEarly() {
	writeNotes(p.out.stderr, p.early, p.out.noteWidth())
	p.early = nil
}

// writeNotes writes notes in lines of at most width columns. If width is 0, it does not break them.
func writeNotes(w io.Writer, notes []string, width int) {
	for _, note := range notes {
		fmt.Fprintln(w, output.Wrap("note: "+escape.Text(note), width))
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
			errs = append(errs, output.WriteAccount(p.out.stderr, a))
		}
	}
	return errors.Join(errs...)
}
