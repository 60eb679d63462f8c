package main

import (
	"cmp"
	"encoding/json"
	"fmt"
	"io"
	"math"
	"math/big"
	"slices"
	"strings"
	"time"

	"github.com/ringtap/ringtap/internal/escape"
	"github.com/ringtap/ringtap/internal/histogram"
	"github.com/ringtap/ringtap/internal/histtrigger"
	"github.com/ringtap/ringtap/internal/profile"
	"github.com/ringtap/ringtap/internal/profiler"
	"github.com/ringtap/ringtap/internal/questions/calls"
	"github.com/ringtap/ringtap/internal/table"
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
	_, err := fmt.Fprintf(p.out, "Tracing %s %s%s\n", what, escape.Text(p.subject.describe()), end)
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

// histWindow is what was counted in a stretch of time.
type histWindow struct {
	end  time.Time
	rows []histRow // with the fewest values first
	rest int       // rows that are left out: see histFlags.top
}

// histRow is a histogram and what it is of.
type histRow struct {
	function  int      // as an index of histSubject.functions
	stack     []string // leaf first; nil where stacks were not asked for
	cut       bool     // the stack is deeper than what was copied of it
	histogram *histogram.Histogram

	user, kernel int // the stacks, as the profile numbers them
}

// counted prints what the kernel has counted.
func (p *histPrinter) counted(w *histtrigger.Window) error {
	window := &histWindow{end: w.End}
	if w.Histogram != nil {
		window.rows = []histRow{{histogram: w.Histogram}}
	}
	return p.print(window)
}

// profiled prints the histograms of a profile, whose collectors are of one function each:
// those of all processes together.
func (p *histPrinter) profiled(of *profile.Profile) error {
	type place struct{ function, user, kernel int }
	rows := make(map[place]*histRow)
	for i := range of.Rows {
		row := &of.Rows[i]
		for j, h := range row.Histograms {
			if h == nil {
				continue
			}
			at := place{p.subject.indexes[j], row.User, row.Kernel}
			if rows[at] == nil {
				rows[at] = &histRow{function: at.function, histogram: histogram.New(h.Scale()), user: at.user, kernel: at.kernel}
			}
			rows[at].histogram.Merge(h)
		}
	}
	w := &histWindow{end: of.Start.Add(of.Duration)}
	for _, row := range rows {
		w.rows = append(w.rows, *row)
	}
	slices.SortFunc(w.rows, func(a, b histRow) int {
		return cmp.Or(cmp.Compare(a.histogram.Count(), b.histogram.Count()), a.function-b.function, a.user-b.user, a.kernel-b.kernel)
	})
	if p.flags.stacks && len(w.rows) > p.flags.top {
		w.rest = len(w.rows) - p.flags.top
		w.rows = w.rows[w.rest:]
	}
	for i := range w.rows {
		w.rows[i].name(of)
	}
	return p.print(w)
}

// name names the frames of a row's stacks: those of the kernel and then the user's.
func (r *histRow) name(of *profile.Profile) {
	for _, i := range []int{r.kernel, r.user} {
		if i == profile.None {
			continue
		}
		s := &of.Stacks[i]
		r.cut = r.cut || s.Truncated
		for _, f := range slices.Backward(s.Frames) {
			r.stack = append(r.stack, of.Frames[f].String())
		}
	}
}

// print prints a window.
func (p *histPrinter) print(w *histWindow) error {
	if p.flags.json {
		return p.printJSON(w)
	}
	var text []byte
	if p.flags.times {
		text = fmt.Appendf(text, "\n%s", w.end.Format(time.TimeOnly))
	}
	if w.rest > 0 {
		text = fmt.Appendf(text, "\n%d stacks with fewer values are left out (-t)\n", w.rest)
	}
	for i := range w.rows {
		text = p.appendRow(text, &w.rows[i])
	}
	if len(w.rows) == 0 {
		text = append(text, "\nnothing was counted\n"...)
	}
	_, err := p.out.Write(text)
	return err
}

// appendRow appends a histogram: what it is of, its buckets, and what bcc's tools
// say below theirs.
func (p *histPrinter) appendRow(dst []byte, row *histRow) []byte {
	name, unit := escape.Text(p.subject.functions[row.function]), ""
	if p.subject.field == "" {
		unit = " " + units[p.flags.unit].name
		name += "," + unit
	}
	dst = fmt.Appendf(dst, "\n%s:\n", name)
	for _, frame := range row.stack {
		dst = fmt.Appendf(dst, " => %s\n", escape.Text(frame))
	}
	if row.cut {
		dst = append(dst, " => [truncated]\n"...)
	}
	dst = row.histogram.Append(dst)
	return fmt.Appendf(dst, "\navg = %d%s, total: %d%s, count: %d\n", row.histogram.Mean(), unit, row.histogram.Total(), unit, row.histogram.Count())
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

func (p *histPrinter) printJSON(w *histWindow) error {
	window := jsonWindow{Time: w.end.Format(time.RFC3339Nano), Histograms: []jsonRow{}, StacksLeft: w.rest}
	for i := range w.rows {
		row := &w.rows[i]
		j := jsonRow{
			Name: p.subject.functions[row.function], Stack: row.stack, Cut: row.cut,
			Count: row.histogram.Count(), Total: row.histogram.Total(), Buckets: jsonBuckets(row.histogram),
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
func (p *histPrinter) account(w io.Writer, collectors []table.Collector, result *profiler.Result) {
	var a calls.CallAccount
	var unreadable, unread, lost, counted, unkept uint64
	for i, c := range collectors {
		switch c := c.(type) {
		case *calls.Calls:
			one := c.Account()
			a.Before, a.Open, a.Left, a.Broken = a.Before+one.Before, a.Open+one.Open, a.Left+one.Left, a.Broken+one.Broken
		case *calls.Values:
			unreadable, unread = unreadable+c.Unreadable, unread+c.Unread
		}
		account := &result.Accounts[i]
		lost, counted, unkept = lost+account.Lost, counted+account.Counted, unkept+account.Unkept
	}
	var says says
	says.add(a.Before, "return without an entry (a call that began earlier, or the child of a fork)", "returns without an entry (calls that began earlier, or children of a fork)")
	says.add(a.Open, "call had not returned at the end", "calls had not returned at the end")
	says.add(a.Left, "call never returns (longjmp, exit) or was nested too deep for the kernel", "calls never return (longjmp, exit) or were nested too deep for the kernel")
	says.add(a.Broken, "call was dropped because records were lost", "calls were dropped because records were lost")
	says.add(unreadable, "hit had no value", "hits had no value")
	says.add(unread, "hit had no text to compare: its memory was gone", "hits had no text to compare: their memory was gone")
	if len(says) > 0 {
		fmt.Fprintf(w, "not in the histogram: %s\n", strings.Join(says, "; "))
	}
	if lost > 0 {
		fmt.Fprintf(w, "lost %d of %d hits, which came faster than ringtap could read them\n", lost, counted)
	}
	if unkept > 0 {
		fmt.Fprintf(w, "%d values have no stack, because there was no memory for more stacks\n", unkept)
	}
	sayNotes(w, result.Notes)
}
