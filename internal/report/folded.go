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

// foldedLine is one line of folded stacks.
type foldedLine struct {
	Frames []string // root first; Frames[0] is the command's name
	Value  uint64
}

// WriteFolded writes p as folded stacks: lines "comm;root;…;leaf VALUE",
// sorted, each stack once, as flamegraph.pl and speedscope read them. Kernel
// frames follow user frames and end in _[k], inlined functions end in _[i].
// VALUE is the count of the chosen metric in the base unit of the collector:
// samples for on-cpu, nanoseconds, bytes or counts elsewhere. Stacks of value
// zero are left out.
func WriteFolded(w io.Writer, p *profile.Profile, opts FileOptions) error {
	m, err := opts.metric(p)
	if err != nil {
		return err
	}
	return writeFolded(w, fold(p, m, opts.Inlines))
}

// fold merges the rows of p to lines. Two processes of one name are one tower.
func fold(p *profile.Profile, metric int, inlines bool) []foldedLine {
	l := newLeveler(p, inlines)
	sums := make(map[string]uint64)
	var levels []level
	var key []byte
	for i := range p.Rows {
		r := &p.Rows[i]
		if r.Values[metric] == 0 {
			continue
		}
		levels = l.row(levels[:0], r)
		key = key[:0]
		for n, level := range levels {
			if n > 0 {
				key = append(key, ';')
			}
			key = append(key, level.name...)
			switch level.kind {
			case kernel:
				key = append(key, "_[k]"...)
			case inlined:
				key = append(key, "_[i]"...)
			}
		}
		sums[string(keepText(key))] += r.Values[metric]
	}
	lines := make([]foldedLine, 0, len(sums))
	for stack, value := range sums {
		lines = append(lines, foldedLine{strings.Split(stack, ";"), value})
	}
	slices.SortFunc(lines, func(a, b foldedLine) int { return slices.Compare(a.Frames, b.Frames) })
	return lines
}

// keepText joins a last word of digits to the word before: flamegraph.pl takes
// "worker 3 17" for a stack "worker" with the two values of a difference.
func keepText(stack []byte) []byte {
	for i := len(stack) - 1; i >= 0; i-- {
		switch c := stack[i]; {
		case c == ' ' && i < len(stack)-1:
			stack[i] = '_'
			return stack
		case (c < '0' || c > '9') && c != '.':
			return stack
		}
	}
	return stack
}

func writeFolded(w io.Writer, lines []foldedLine) error {
	out := bufio.NewWriter(w)
	for _, l := range lines {
		out.WriteString(strings.Join(l.Frames, ";"))
		out.WriteByte(' ')
		out.WriteString(strconv.FormatUint(l.Value, 10))
		out.WriteByte('\n')
	}
	if err := out.Flush(); err != nil {
		return fmt.Errorf("write folded stacks: %w", err)
	}
	return nil
}

// escapeFrame is escape.Text for a name that stands in a list joined by
// semicolons. Rust's array types hold "; ": the semicolon becomes a colon, as
// every folded file of a Rust program has it.
func escapeFrame(s string) string {
	return strings.ReplaceAll(escape.Text(s), ";", ":")
}
