package main

import (
	"fmt"
	"io"
	"slices"
	"strconv"
	"strings"
	"text/tabwriter"
)

// row is one line of the table: the values of every turn, and the highest value that
// the target allows.
type row struct {
	what string
	unit string
	own  []float64
	peer []float64 // empty: the target is for the own value
	most float64   // of own/peer, or of own; negative: no target
	note string
}

// rows returns the rows for the comparisons of an outcome. If the peer of a row is missing, the
// row has no target, and a note says why.
func (b *bench) rows(m measurement, o outcome) (rows []row) {
	s := b.newSession(m)
	noted := map[string]bool{}
	for _, c := range m.compare {
		r := row{what: s.expand(c.what), unit: c.unit, own: o.Values[c.own], peer: o.Values[c.peer], most: c.most}
		var notes []string
		if m.kernel != "" && len(rows) == 0 {
			notes = append(notes, emulated)
		}
		for _, key := range []string{c.own, c.peer} {
			name, _, _ := strings.Cut(key, ": ")
			if why := o.Missing[name]; why != "" {
				r.most, notes = -1, append(notes, why)
			} else if note := o.Notes[name]; note != "" && !noted[name] {
				noted[name], notes = true, append(notes, note)
			}
		}
		peer, _, _ := strings.Cut(c.peer, ": ")
		if c.own != "" && peer != "" && len(r.peer) == 0 && o.Missing[peer] == "" {
			r.most, notes = -1, append(notes, peer+" was not measured")
		}
		r.note = strings.Join(notes, "; ")
		rows = append(rows, r)
	}
	return rows
}

// printTable writes the rows with their medians and verdicts.
func printTable(w io.Writer, rows []row) error {
	t := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	fmt.Fprintln(t, "what\tringtap\tpeer\tratio\ttarget\t\truns (ringtap; peer)")
	var notes []string
	for _, r := range rows {
		if r.note != "" {
			notes = append(notes, r.what+": "+r.note)
		}
		fmt.Fprintf(t, "%s\t%s\t%s\t%s\t%s\t%s\t%s\n",
			r.what, r.quantity(r.own), r.quantity(r.peer), r.ratio(), r.target(), r.verdict(), r.spread())
	}
	if err := t.Flush(); err != nil {
		return err
	}
	for _, note := range notes {
		if _, err := fmt.Fprintln(w, note); err != nil {
			return err
		}
	}
	return nil
}

func (r row) quantity(values []float64) string {
	if len(values) == 0 {
		return "-"
	}
	return number(median(values)) + " " + r.unit
}

// value returns the number that is compared with the target: ringtap's median, or its ratio to
// the peer's.
func (r row) value() float64 {
	if len(r.peer) == 0 {
		return median(r.own)
	}
	return median(r.own) / median(r.peer)
}

func (r row) ratio() string {
	if len(r.own) == 0 || len(r.peer) == 0 {
		return "-"
	}
	return number(r.value())
}

func (r row) target() string {
	switch {
	case r.most < 0:
		return "-"
	case len(r.peer) == 0:
		return "≤ " + number(r.most) + " " + r.unit
	}
	return "≤ " + number(r.most)
}

func (r row) verdict() string {
	switch {
	case r.most < 0:
		return "-"
	case len(r.own) == 0:
		return "not measured"
	case r.value() <= r.most:
		return "met"
	}
	return "MISSED"
}

// spread lists all values, so that the reader can judge the median.
func (r row) spread() string {
	if len(r.peer) == 0 {
		return numbers(r.own)
	}
	return numbers(r.own) + "; " + numbers(r.peer)
}

func numbers(values []float64) string {
	var texts []string
	for _, v := range values {
		texts = append(texts, number(v))
	}
	return strings.Join(texts, " ")
}

// number formats v with three significant digits, and with all digits before the point.
func number(v float64) string {
	if v >= 1000 {
		return strconv.FormatFloat(v, 'f', 0, 64)
	}
	return strconv.FormatFloat(v, 'g', 3, 64)
}

// median returns the median of the values. There must be at least one value.
func median(values []float64) float64 {
	sorted := slices.Sorted(slices.Values(values))
	middle := len(sorted) / 2
	if len(sorted)%2 == 1 {
		return sorted[middle]
	}
	return (sorted[middle-1] + sorted[middle]) / 2
}
