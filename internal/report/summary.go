package report

import (
	"bytes"
	"fmt"
	"io"
	"strings"

	"github.com/ringtap/ringtap/internal/profile"
	"github.com/ringtap/ringtap/internal/visible"
)

// WriteSummary writes what a reader of the three tables must know beside them:
// how much of the profile they show; the hottest functions; one line for each
// event with the samples received and, where not zero, those lost, the times it
// was throttled, stacks cut short and frames without a name; and the profile's
// notes. It takes the options of the tables.
func WriteSummary(w io.Writer, p *profile.Profile, opts TableOptions) error {
	metric, err := checkMetric(p, opts.Metric)
	if err != nil {
		return err
	}
	var b bytes.Buffer
	s := choose(p, opts, metric)
	m := &p.Metrics[metric]
	fmt.Fprintf(&b, "%d of %s, %s of %s %s\n", len(s.rows), plural(uint64(s.all), "stack"),
		percent(s.shown, s.total), quantity(s.total, m), visible.Text(m.Name))
	if line := othersLine(p, metric); line != "" {
		fmt.Fprintln(&b, line)
	}
	if line := hottestLine(p, metric, s.total, opts.Inlines); line != "" {
		fmt.Fprintln(&b, line)
	}
	for _, line := range accountLines(p) {
		fmt.Fprintln(&b, line)
	}
	for _, note := range p.Notes {
		fmt.Fprintf(&b, "note: %s\n", visible.Text(note))
	}
	if _, err := w.Write(b.Bytes()); err != nil {
		return fmt.Errorf("write summary: %w", err)
	}
	return nil
}

// othersLine tells the totals of the metrics that the tables are not ordered by.
func othersLine(p *profile.Profile, metric int) string {
	totals := make([]uint64, len(p.Metrics))
	for i := range p.Rows {
		for m, v := range p.Rows[i].Values {
			totals[m] += v
		}
	}
	var parts []string
	for i := range p.Metrics {
		switch m := &p.Metrics[i]; {
		case m.Share != nil:
			parts = append(parts, fmt.Sprintf("%d %% %s", m.Share.Of(totals), visible.Text(m.Name)))
		case i != metric:
			parts = append(parts, quantity(totals[i], m)+" "+visible.Text(m.Name))
		}
	}
	if len(parts) == 0 {
		return ""
	}
	return "in all: " + strings.Join(parts, ", ")
}

// WriteAccount writes the line of bookkeeping of a whole run.
func WriteAccount(w io.Writer, a *profile.Account) error {
	if _, err := fmt.Fprintf(w, "whole run: %s\n", accountLine(a)); err != nil {
		return fmt.Errorf("write account: %w", err)
	}
	return nil
}

// accountLines returns one line of bookkeeping for each event.
func accountLines(p *profile.Profile) []string {
	var lines []string
	for i := range p.Accounts {
		lines = append(lines, accountLine(&p.Accounts[i]))
	}
	return lines
}

// accountLine is the bookkeeping of one event: what was received, and whatever
// else is not zero.
func accountLine(a *profile.Account) string {
	line := fmt.Sprintf("%s: %s received", visible.Text(a.Event), plural(a.Received, "sample"))
	if a.Lost > 0 {
		line += fmt.Sprintf(", %d lost (%s)", a.Lost, percent(a.Lost, a.Received+a.Lost))
	}
	if a.LeftOut > 0 {
		line += fmt.Sprintf(", %d of them not shown (ringtap's own, idle, or past the end)", a.LeftOut)
	}
	if a.Overwritten > 0 {
		line += fmt.Sprintf(", %d kept for an alarm and let go of", a.Overwritten)
	}
	if a.Exact && a.Counted != a.Received+a.Lost+a.Overwritten {
		line += fmt.Sprintf(", the kernel counted %d", a.Counted)
	}
	if a.Throttled > 0 {
		line += fmt.Sprintf(", throttled %s", plural(a.Throttled, "time"))
	}
	for _, stacks := range []struct {
		n, of uint64
		what  string
	}{{a.Truncated, a.Stacks, "cut short"}, {a.Joined, a.Stacks, "cut short and joined to the only whole one that begins alike"}, {a.Broken, a.Stacks, "without the outermost callers"}, {a.Unkept, a.Received, "not kept for want of memory"}} {
		if stacks.n > 0 {
			line += fmt.Sprintf(", %s %s (%s)", plural(stacks.n, "stack"), stacks.what, percent(stacks.n, stacks.of))
		}
	}
	if a.Unknown > 0 {
		line += fmt.Sprintf(", %s without a name", plural(a.Unknown, "frame"))
	}
	return line
}
