package output

import (
	"bytes"
	"fmt"
	"io"
	"strings"
	"time"

	"github.com/ringtap/ringtap/internal/profile"
	"github.com/ringtap/ringtap/internal/text/escape"
)

// WriteSummary writes the output of WriteShown and of WriteAccounts. opts are those of the tables.
func WriteSummary(w io.Writer, p *profile.Profile, opts TableOptions) error {
	if err := WriteShown(w, p, opts); err != nil {
		return err
	}
	if !opts.Drawn {
		return WriteAccounts(w, p, 0)
	}
	return WriteAccounts(w, p, opts.Width)
}

// WriteShown writes how much of the profile the three tables show, and the hottest functions. opts
// are those of the tables.
func WriteShown(w io.Writer, p *profile.Profile, opts TableOptions) error {
	metric, err := checkMetric(p, opts.Metric)
	if err != nil {
		return err
	}
	var b bytes.Buffer
	s, totals := choose(p, opts, metric), sums(p)
	fmt.Fprintf(&b, "Showing %d of %s (%s of %s)\n", len(s.rows), plural(uint64(s.all), "stack"),
		percent(s.shown, s.total), amount(totals, p.Metrics, metric))
	var others []string
	for i := range p.Metrics {
		if i != metric {
			others = append(others, amount(totals, p.Metrics, i))
		}
	}
	if len(others) > 0 {
		fmt.Fprintf(&b, "Totals: %s\n", strings.Join(others, ", "))
	}
	if line := hottestLine(p, metric, s.total, opts.Inlines); line != "" {
		fmt.Fprintln(&b, line)
	}
	if _, err := w.Write(b.Bytes()); err != nil {
		return fmt.Errorf("write summary: %w", err)
	}
	return nil
}

// WriteAccounts writes one line per event: samples received and, if not zero, samples lost, times
// throttled, truncated stacks and frames without names. Then it writes the profile's notes. Lines
// are wrapped at width columns; 0 means no limit.
func WriteAccounts(w io.Writer, p *profile.Profile, width int) error {
	var b bytes.Buffer
	for _, line := range accountLines(p) {
		fmt.Fprintln(&b, wrap(line, " ", width))
	}
	return writeNotes(w, &b, append(roughly(p), p.AllNotes()...), width)
}

// WriteBrief is WriteAccounts with all events in one line, and without details that the user can do
// nothing about.
func WriteBrief(w io.Writer, p *profile.Profile, width int) error {
	var b bytes.Buffer
	if len(p.Accounts) > 0 {
		fmt.Fprintln(&b, wrap(briefAccount(p.Accounts), " ", width))
	}
	return writeNotes(w, &b, append(roughly(p), p.Notes...), width)
}

// writeNotes writes b and then the notes.
func writeNotes(w io.Writer, b *bytes.Buffer, notes []string, width int) error {
	for _, note := range notes {
		fmt.Fprintln(b, wrap("note: "+escape.Text(note), " ", width))
	}
	if _, err := w.Write(b.Bytes()); err != nil {
		return fmt.Errorf("write summary: %w", err)
	}
	return nil
}

// roughly returns a note if a profile of time has too few samples for exact shares.
func roughly(p *profile.Profile) []string {
	const enough, often = 100, 999
	if p.Period == 0 || len(p.Accounts) != 1 {
		return nil
	}
	a := &p.Accounts[0]
	shown := a.Received - min(a.LeftOut, a.Received)
	if shown == 0 || shown >= enough {
		return nil
	}
	text := fmt.Sprintf("the shares are rough: they come from %s only; ", plural(shown, "sample"))
	if p.Period > time.Second/often {
		return []string{text + fmt.Sprintf("-f %d takes more", often)}
	}
	return []string{text + "a longer run takes more"}
}

// briefAccount returns the account of all events in one sentence: the samples received and, if not
// zero, what is missing.
func briefAccount(accounts []profile.Account) string {
	var sum profile.Account
	for i := range accounts {
		a := &accounts[i]
		sum.Received += a.Received
		sum.Lost += a.Lost
		sum.Others += a.Others
		sum.Overwritten += a.Overwritten
		sum.Throttled += a.Throttled
		sum.Stacks += a.Stacks
		sum.Truncated += a.Truncated
		sum.Broken += a.Broken
		sum.Unmapped += a.Unmapped
		sum.Unkept += a.Unkept
		sum.Unknown += a.Unknown
		if counted := a.Received + a.Lost + a.Overwritten; a.Exact {
			sum.Exact = true
			sum.Counted += a.Counted
		} else {
			sum.Counted += counted // the kernel's count is not comparable
		}
	}
	sum.Event = plural(uint64(len(accounts)), "event")
	if len(accounts) == 1 {
		sum.Event = accounts[0].Event
	}
	return accountLine(&sum)
}

// WriteAccount writes the account of a whole run as one line.
func WriteAccount(w io.Writer, a *profile.Account) error {
	if _, err := fmt.Fprintf(w, "whole run: %s\n", accountLine(a)); err != nil {
		return fmt.Errorf("write account: %w", err)
	}
	return nil
}

// accountLines returns one account line per event.
func accountLines(p *profile.Profile) []string {
	var lines []string
	for i := range p.Accounts {
		lines = append(lines, accountLine(&p.Accounts[i]))
	}
	return lines
}

// accountLine returns the account of one event: the samples received, and everything else that is
// not zero.
func accountLine(a *profile.Account) string {
	line := fmt.Sprintf("%s: %s received", escape.Text(a.Event), plural(a.Received, "sample"))
	switch {
	case a.Lost > 0 && a.Others > 0:
		line += fmt.Sprintf(", %d of all processes lost (%s)", a.Lost, percent(a.Lost, a.Received+a.Others+a.Lost))
	case a.Lost > 0:
		line += fmt.Sprintf(", %d lost (%s)", a.Lost, percent(a.Lost, a.Received+a.Lost))
	}
	if a.LeftOut > 0 {
		line += fmt.Sprintf(", %d of them not shown (ringtap itself, idle, or after the end)", a.LeftOut)
	}
	if a.Overwritten > 0 {
		line += fmt.Sprintf(", %d overwritten before an alarm", a.Overwritten)
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
	}{{a.Truncated, a.Stacks, "cut short"}, {a.Early, a.Truncated, "came before ringtap read whole stacks of their process"}, {a.Joined, a.Stacks, "cut short and joined to the only whole one that begins alike"}, {a.Broken, a.Stacks, "without outermost callers"}, {a.Unkept, a.Received, "merged for lack of memory"}} {
		if stacks.n > 0 {
			line += fmt.Sprintf(", %s %s (%s)", plural(stacks.n, "stack"), stacks.what, rounded(stacks.n, stacks.of))
		}
	}
	if a.Unmapped > 0 {
		line += fmt.Sprintf(", %s outside known mappings (%s)", plural(a.Unmapped, "sample"), rounded(a.Unmapped, a.Received))
	}
	if a.Unknown > 0 {
		line += fmt.Sprintf(", %s without a name", plural(a.Unknown, "frame"))
	}
	return line
}
