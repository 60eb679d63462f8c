package report

import (
	"bytes"
	"fmt"
	"io"

	"github.com/ringtap/ringtap/internal/profile"
	"github.com/ringtap/ringtap/internal/visible"
)

// WriteSummary writes what a reader of the three tables must know beside them:
// how much of the profile they show; the hottest functions; one line for each
// event with the samples received and, where not zero, those lost, the times it
// was throttled, stacks cut short and frames without a name; and the profile's
// notes. It takes the options of the tables.
func WriteSummary(w io.Writer, p *profile.Profile, opts TableOptions) error {
	if err := check(p); err != nil {
		return err
	}
	var b bytes.Buffer
	s := choose(p, opts)
	m := &p.Metrics[0]
	fmt.Fprintf(&b, "%d of %s, %s of %s %s\n", len(s.rows), plural(uint64(s.all), "stack"),
		percent(s.shown, s.total), quantity(s.total, m), visible.Text(m.Name))
	if line := hottestLine(p, s.total, opts.Inlines); line != "" {
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
	if a.Exact && a.Counted != a.Received+a.Lost {
		line += fmt.Sprintf(", the kernel counted %d", a.Counted)
	}
	if a.Throttled > 0 {
		line += fmt.Sprintf(", throttled %s", plural(a.Throttled, "time"))
	}
	for _, stacks := range []struct {
		n    uint64
		what string
	}{{a.Truncated, "cut short"}, {a.Broken, "without the outermost callers"}, {a.Unkept, "not kept for want of memory"}} {
		if stacks.n > 0 {
			line += fmt.Sprintf(", %s %s (%s)", plural(stacks.n, "stack"), stacks.what, percent(stacks.n, a.Received))
		}
	}
	if a.Unknown > 0 {
		line += fmt.Sprintf(", %s without a name", plural(a.Unknown, "frame"))
	}
	return line
}
