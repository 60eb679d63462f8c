package output

import (
	"bufio"
	"fmt"
	"io"
	"slices"
	"strconv"
	"strings"

	"github.com/ringtap/ringtap/internal/profile"
	"github.com/ringtap/ringtap/internal/text/escape"
)

// TableOptions configure the three tables.
type TableOptions struct {
	// Drawn draws the tables for a terminal. Otherwise they are tab-separated lines for programs.
	Drawn bool
	// Top is how many of the largest rows are shown; 0 shows all.
	Top int
	// Width is the terminal's width in columns, for drawn tables. If it is 0, lines are not
	// wrapped.
	Width int
	// User and Kernel select one kind of stack, like the flags -u and -k. If neither or both are
	// set, both kinds are shown.
	User, Kernel bool
	// Inlines shows inlined functions as separate levels.
	Inlines bool
	// Metric is the metric that rows are sorted by, as in FileOptions.
	Metric string
}

// WriteTables writes the three tables of p: counts, the traces that these refer to, and their
// processes. Counts are in ascending order of the chosen metric. For several collectors without a
// chosen metric, the order is by the largest share of any metric. Counts are in units of
// Metric.Scale, which the heading contains. User and kernel stacks share one range of ids; -1 means
// no stack.
//
// Text from profiled processes is escaped. The error is one of w, or says that p is inconsistent.
func WriteTables(w io.Writer, p *profile.Profile, opts TableOptions) error {
	metric, err := checkMetric(p, opts.Metric)
	if err != nil {
		return err
	}
	out := bufio.NewWriter(w)
	fmt.Fprintf(out, "time:%s\n", startText(p, "20060102_15_04_05"))
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

// table is one of the three tables, as cells of escaped text.
type table struct {
	name    string
	heading []string
	rows    [][]string
	align   string // of each column: 'r' for numbers, 'l' for text
	narrow  bool   // shrink the last column if the terminal is too narrow
	wrap    string // wrap the last column after this text; if "", remove its middle instead
	keys    int    // columns that identify a row; 0 if the table is drawn in one piece
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

// allValues returns the values of a row, including the metrics that are shares.
func allValues(p *profile.Profile, r *profile.Row) []uint64 {
	values := slices.Clone(r.Values)
	for i := range p.Metrics {
		if share := p.Metrics[i].Share; share != nil {
			values[i] = share.Of(r.Values)
		}
	}
	return values
}

// metricHeading returns the name of a metric and the quantity that one count stands for:
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

// trace returns the frames of a stack with their offsets, root first.
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
