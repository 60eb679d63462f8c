package report

import (
	"bufio"
	"fmt"
	"io"
	"slices"
	"strconv"
	"strings"

	"github.com/ringtap/ringtap/internal/escape"
	"github.com/ringtap/ringtap/internal/profile"
)

// TableOptions says how the three tables look.
type TableOptions struct {
	// Drawn draws the tables for a terminal; otherwise they are lines of
	// tab-separated fields for a program to read.
	Drawn bool
	// Top is the number of rows shown, the largest; 0 shows all.
	Top int
	// Width is the terminal's width in columns, for drawn tables; 0 if it is
	// not known, which breaks no line.
	Width int
	// User and Kernel ask for one kind of stack alone, as the flags -u and -k
	// do. With neither or both, both are shown.
	User, Kernel bool
	// Inlines shows inlined functions as levels of their own.
	Inlines bool
	// Metric names the metric that the rows are ordered by, as FileOptions has it.
	Metric string
}

// WriteTables writes the three tables of p to w: counts, the traces that the
// shown counts name, and the processes that they belong to. Counts ascend by
// the chosen metric, those of several collectors by their best share of any metric
// unless one was chosen, and are in units of Metric.Scale, which the heading names.
// User and kernel stacks share one space of ids; -1 stands for no stack.
//
// Text from the profiled processes is escaped. The error is one of w, or tells
// that p is inconsistent.
func WriteTables(w io.Writer, p *profile.Profile, opts TableOptions) error {
	metric, err := checkMetric(p, opts.Metric)
	if err != nil {
		return err
	}
	out := bufio.NewWriter(w)
	fmt.Fprintf(out, "time:%s\n", p.Start.Format("20060102_15_04_05"))
	for _, t := range tables(p, opts, metric) {
		fmt.Fprintf(out, "%s:\n", t.name)
		if err := t.write(out, opts); err != nil {
			return fmt.Errorf("write table of %s: %w", t.name, err)
		}
	}
	if err := out.Flush(); err != nil {
		return fmt.Errorf("write tables: %w", err)
	}
	return nil
}

// table is one of the three, as cells of escaped text.
type table struct {
	name    string
	heading []string
	rows    [][]string
	align   string // of each column: 'r' for numbers, 'l' for text
	narrow  bool   // the last column gives way where the terminal is too narrow:
	wrap    string // it goes on in the next line after this, or loses its middle
	keys    int    // columns that name a row, 0 for a table that is drawn in one piece
}

func tables(p *profile.Profile, opts TableOptions, metric int) []table {
	s := choose(p, opts, metric)
	return []table{counts(p, &s), traces(p, &s, opts), info(p, &s)}
}

func counts(p *profile.Profile, s *selection) table {
	t := table{name: "counts", heading: []string{"pid", "usid", "ksid"}, align: "rrr", keys: 3}
	for i := range p.Metrics {
		t.heading = append(t.heading, metricHeading(&p.Metrics[i]))
		t.align += "r"
	}
	for i := range s.rows {
		r := &s.rows[i]
		row := []string{strconv.Itoa(p.Processes[r.Process].PID), strconv.Itoa(r.User), strconv.Itoa(r.Kernel)}
		for _, v := range allValues(p, r) {
			row = append(row, strconv.FormatUint(v, 10))
		}
		t.rows = append(t.rows, row)
	}
	return t
}

// allValues are a row's values with those of metrics that are shares.
func allValues(p *profile.Profile, r *profile.Row) []uint64 {
	values := slices.Clone(r.Values)
	for i := range p.Metrics {
		if share := p.Metrics[i].Share; share != nil {
			values[i] = share.Of(r.Values)
		}
	}
	return values
}

// metricHeading is the name of a metric and what one count of it stands for:
// "OnCPUTime/20408163nanoseconds".
func metricHeading(m *profile.Metric) string {
	return escape.Text(m.Name) + "/" + strconv.FormatUint(max(m.Scale, 1), 10) + escape.Text(m.Unit)
}

func traces(p *profile.Profile, s *selection, opts TableOptions) table {
	t := table{name: "traces", heading: []string{"sid", "trace"}, align: "rl", narrow: true, wrap: ";"}
	for _, id := range s.stacks {
		t.rows = append(t.rows, []string{strconv.Itoa(id), strings.Join(trace(p, id, opts.Inlines), ";")})
	}
	return t
}

// trace returns the frames of a stack, root to leaf, with their offsets.
func trace(p *profile.Profile, id int, inlines bool) []string {
	s := &p.Stacks[id]
	var frames []string
	if s.Truncated {
		frames = append(frames, truncatedName)
	}
	for _, i := range s.Frames {
		f := &p.Frames[i]
		frames = append(frames, place(p, f))
		if inlines {
			for n := len(f.Lines) - 2; n >= 0; n-- {
				frames = append(frames, lineName(&f.Lines[n])+" (inlined)")
			}
		}
	}
	return frames
}

func info(p *profile.Profile, s *selection) table {
	t := table{name: "info", heading: []string{"pid", "NSpid", "comm", "tgid", "cgroup"}, align: "rrlrl", narrow: true}
	for _, i := range s.processes {
		q := &p.Processes[i]
		t.rows = append(t.rows, []string{strconv.Itoa(q.PID), strconv.Itoa(q.NSPID),
			escape.Text(q.Comm), strconv.Itoa(q.TGID), escape.Text(q.Cgroup)})
	}
	return t
}

func (t *table) write(w io.Writer, opts TableOptions) error {
	if opts.Drawn {
		for _, piece := range t.pieces(opts.Width) {
			if err := piece.draw(w, opts.Width); err != nil {
				return err
			}
		}
		return nil
	}
	for _, row := range append([][]string{t.heading}, t.rows...) {
		if _, err := io.WriteString(w, strings.Join(row, "\t")+"\n"); err != nil {
			return err
		}
	}
	return nil
}
