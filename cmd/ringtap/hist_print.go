package main

import (
	"encoding/json"
	"fmt"
	"io"
	"math"
	"math/big"
	"strings"
	"time"

	"github.com/ringtap/ringtap/internal/histogram"
	"github.com/ringtap/ringtap/internal/measure"
	"github.com/ringtap/ringtap/internal/visible"
)

// histPrinter prints the windows of hist.
type histPrinter struct {
	flags   *histFlags
	out     io.Writer
	subject *histSubject
}

// greet is the line before the first histogram.
func (p *histPrinter) greet() error {
	if p.flags.json {
		return nil
	}
	what := "the time of"
	if p.subject.field != "" {
		what = "the values of"
	}
	end := "... Ctrl-C to end."
	if p.flags.duration > 0 {
		end = " for " + formatSeconds(time.Duration(p.flags.duration)) + " seconds..."
	}
	_, err := fmt.Fprintf(p.out, "Tracing %s %s%s\n", what, visible.Text(p.subject.describe()), end)
	return err
}

// leave is the last line.
func (p *histPrinter) leave() error {
	if p.flags.json {
		return nil
	}
	_, err := fmt.Fprint(p.out, "\nEnding tracing...\n")
	return err
}

// print prints a window.
func (p *histPrinter) print(w *measure.Window) error {
	if p.flags.json {
		return p.printJSON(w)
	}
	var text []byte
	if p.flags.times {
		text = fmt.Appendf(text, "\n%s", w.End.Format(time.TimeOnly))
	}
	if w.Rest > 0 {
		text = fmt.Appendf(text, "\n%d stacks with fewer values are left out (-t)\n", w.Rest)
	}
	for i := range w.Rows {
		text = p.appendRow(text, &w.Rows[i])
	}
	if len(w.Rows) == 0 {
		text = append(text, "\nnothing was counted\n"...)
	}
	_, err := p.out.Write(text)
	return err
}

// appendRow appends a histogram: what it is of, its buckets, and what bcc's tools
// say below theirs.
func (p *histPrinter) appendRow(dst []byte, row *measure.Row) []byte {
	name, unit := visible.Text(p.subject.functions[row.Function]), ""
	if p.subject.field == "" {
		unit = " " + units[p.flags.unit].name
		name += "," + unit
	}
	dst = fmt.Appendf(dst, "\n%s:\n", name)
	for _, frame := range row.Stack {
		dst = fmt.Appendf(dst, " => %s\n", visible.Text(frame))
	}
	if row.Cut {
		dst = append(dst, " => [truncated]\n"...)
	}
	dst = row.Histogram.Append(dst)
	return fmt.Appendf(dst, "\navg = %d%s, total: %d%s, count: %d\n", row.Histogram.Mean(), unit, row.Histogram.Total(), unit, row.Histogram.Count())
}

// jsonWindow is a window as JSON has it.
type jsonWindow struct {
	Time       string    `json:"time"`
	Histograms []jsonRow `json:"histograms"`
	StacksLeft int       `json:"stacks_left_out,omitempty"`
}

type jsonRow struct {
	Name    string       `json:"name"`
	Unit    string       `json:"unit,omitempty"` // of calls' times
	Stack   []string     `json:"stack,omitempty"`
	Cut     bool         `json:"truncated,omitempty"`
	Count   uint64       `json:"count"`
	Total   *big.Int     `json:"total"`
	Buckets []jsonBucket `json:"buckets"`
}

// jsonBucket counts values of at least Min and less than Max; null is no bound.
type jsonBucket struct {
	Min   *int64 `json:"min"`
	Max   *int64 `json:"max"`
	Count uint64 `json:"count"`
}

func (p *histPrinter) printJSON(w *measure.Window) error {
	window := jsonWindow{Time: w.End.Format(time.RFC3339Nano), Histograms: []jsonRow{}, StacksLeft: w.Rest}
	for i := range w.Rows {
		row := &w.Rows[i]
		j := jsonRow{
			Name: p.subject.functions[row.Function], Stack: row.Stack, Cut: row.Cut,
			Count: row.Histogram.Count(), Total: row.Histogram.Total(), Buckets: jsonBuckets(row.Histogram),
		}
		if p.subject.field == "" {
			j.Unit = p.flags.unit
		}
		window.Histograms = append(window.Histograms, j)
	}
	return json.NewEncoder(p.out).Encode(window)
}

func jsonBuckets(h *histogram.Histogram) []jsonBucket {
	buckets := []jsonBucket{}
	for _, b := range h.Buckets() {
		j := jsonBucket{Count: b.Count}
		if b.Low != math.MinInt64 {
			j.Min = &b.Low
		}
		if b.High != math.MaxInt64 {
			j.Max = &b.High
		}
		buckets = append(buckets, j)
	}
	return buckets
}

// account says which calls and hits are in no histogram.
func (p *histPrinter) account(w io.Writer, a measure.Account) {
	var says says
	says.add(a.Before, "return without an entry (a call that began earlier, or the child of a fork)", "returns without an entry (calls that began earlier, or children of a fork)")
	says.add(a.Open, "call had not returned at the end", "calls had not returned at the end")
	says.add(a.Left, "call never returns (longjmp, exit) or was nested too deep for the kernel", "calls never return (longjmp, exit) or were nested too deep for the kernel")
	says.add(a.Broken, "call was dropped because records were lost", "calls were dropped because records were lost")
	says.add(a.Unreadable, "hit had no value", "hits had no value")
	if len(says) > 0 {
		fmt.Fprintf(w, "not in the histogram: %s\n", strings.Join(says, "; "))
	}
	if a.Lost > 0 {
		fmt.Fprintf(w, "lost %d of %d hits, which came faster than ringtap could read them\n", a.Lost, a.Counted)
	}
	if a.Unkept > 0 {
		fmt.Fprintf(w, "%d values have no stack, because there was no memory for more stacks\n", a.Unkept)
	}
}
