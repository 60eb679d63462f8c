package main

import (
	"fmt"
	"io"
	"strings"

	"github.com/ringtap/ringtap/internal/escape"
	"github.com/ringtap/ringtap/internal/histogram"
	"github.com/ringtap/ringtap/internal/profile"
	"github.com/ringtap/ringtap/internal/questions/calls"
	"github.com/ringtap/ringtap/internal/table"
)

// sayCalls says which calls' times are not whole.
func sayCalls(w io.Writer, c *calls.Calls) {
	a := c.Account()
	var says says
	says.add(a.Before, "return without an entry (a call that began earlier, or the child of a fork) is not included", "returns without an entry (calls that began earlier, or children of a fork) are not included")
	says.add(a.Open, "call had not returned at the end", "calls had not returned at the end")
	says.add(a.Left, "call never returns (exit, longjmp) or was nested too deep for the kernel", "calls never return (exit, longjmp) or were nested too deep for the kernel")
	says.add(a.Broken, "call was dropped because records were lost", "calls were dropped because records were lost")
	if len(says) > 0 {
		fmt.Fprintf(w, "%s: of the times, %s\n", escape.Text(c.Spec), strings.Join(says, "; "))
	}
}

// says is what a line says of counts that are not zero.
type says []string

// add adds a count with what it is of, if there is any.
func (s *says) add(n uint64, one, many string) {
	switch {
	case n == 1:
		*s = append(*s, "1 "+one)
	case n > 1:
		*s = append(*s, fmt.Sprintf("%d %s", n, many))
	}
}

// writeTimes writes the histograms of a window whose tables have been written, of all its
// rows together.
func writeTimes(w io.Writer, p *profile.Profile, collectors []table.Collector) error {
	for i, collector := range collectors {
		c, ok := collector.(*calls.Calls)
		if !ok || c.Histogram == nil {
			continue
		}
		h := histogram.New(*c.Histogram)
		for _, row := range p.Rows {
			if row.Histograms != nil && row.Histograms[i] != nil {
				h.Merge(row.Histograms[i])
			}
		}
		text := fmt.Appendf(nil, "\n%s, nsecs:\n", escape.Text(c.Spec))
		text = h.Append(text)
		if _, err := fmt.Fprintf(w, "%s\navg = %d nsecs, total: %d nsecs, count: %d\n", text, h.Mean(), h.Total(), h.Count()); err != nil {
			return err
		}
	}
	return nil
}
