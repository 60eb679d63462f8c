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

// WriteFolded writes p as folded stacks, in the format of flamegraph.pl and speedscope: sorted
// lines "comm;root;…;leaf VALUE", each stack once. Kernel frames follow user frames and end in
// _[k], inlined functions end in _[i]. VALUE is the count of the chosen metric, in units of
// Metric.Scale: samples for on-cpu, and nanoseconds, bytes or counts elsewhere. Stacks with the
// value zero are omitted.
func WriteFolded(w io.Writer, p *profile.Profile, opts FileOptions) error {
	m, err := opts.metric(p)
	if err != nil {
		return err
	}
	return fold(p, m, opts.Inlines).write(w)
}

// folded is the folded stacks of one metric.
type folded struct {
	texts []string // of levels, sorted
	lines []foldedLine
}

// foldedLine is one line of folded stacks.
type foldedLine struct {
	path  []int32 // indexes of folded.texts, root first; path[0] is the command's name
	value uint64
}

// fold merges the rows of p into sorted lines. Processes with the same name share a root.
func fold(p *profile.Profile, metric int, inlines bool) *folded {
	l := newLeveler(p, inlines)
	f := &folded{lines: make([]foldedLine, 0, len(p.Rows))}
	var paths arena
	for i := range p.Rows {
		if r := &p.Rows[i]; r.Values[metric] > 0 {
			l.path = l.indexes(l.path[:0], r)
			f.lines = append(f.lines, foldedLine{paths.copy(l.path), r.Values[metric]})
		}
	}
	f.rank(l.all)
	slices.SortFunc(f.lines, func(a, b foldedLine) int { return slices.Compare(a.path, b.path) })
	merged := f.lines[:0]
	for _, line := range f.lines {
		if last := len(merged) - 1; last >= 0 && slices.Equal(merged[last].path, line.path) {
			merged[last].value += line.value
		} else {
			merged = append(merged, line)
		}
	}
	f.lines = merged
	return f
}

// rank makes the texts of levels, and replaces the levels in the paths by their texts.
func (f *folded) rank(levels []level) {
	inside, leaf := make([]string, len(levels)), make([]string, len(levels))
	for i := range levels {
		inside[i] = levels[i].name
		switch levels[i].kind {
		case kernel:
			inside[i] += "_[k]"
		case inlined:
			inside[i] += "_[i]"
		}
		leaf[i] = keepText(inside[i])
	}
	f.texts = slices.Concat(inside, leaf)
	slices.Sort(f.texts)
	f.texts = slices.Compact(f.texts)
	ranks := func(texts []string) []int32 {
		all := make([]int32, len(texts))
		for i, text := range texts {
			at, _ := slices.BinarySearch(f.texts, text)
			all[i] = int32(at)
		}
		return all
	}
	insideRanks, leafRanks := ranks(inside), ranks(leaf)
	for _, line := range f.lines {
		last := len(line.path) - 1
		for n, level := range line.path[:last] {
			line.path[n] = insideRanks[level]
		}
		line.path[last] = leafRanks[line.path[last]]
	}
}

// keepText joins a last word of digits to the word before it. Otherwise flamegraph.pl reads "worker
// 3 17" as a stack "worker" with two values to compare.
func keepText(leaf string) string {
	i := strings.LastIndexByte(leaf, ' ')
	if i < 0 || i == len(leaf)-1 || strings.Trim(leaf[i+1:], ".0123456789") != "" {
		return leaf
	}
	return leaf[:i] + "_" + leaf[i+1:]
}

func (f *folded) write(w io.Writer) error {
	out := bufio.NewWriterSize(w, 64<<10)
	var number []byte
	for _, line := range f.lines {
		for n, text := range line.path {
			if n > 0 {
				out.WriteByte(';')
			}
			out.WriteString(f.texts[text])
		}
		number = strconv.AppendUint(append(number[:0], ' '), line.value, 10)
		out.Write(append(number, '\n'))
	}
	if err := out.Flush(); err != nil {
		return fmt.Errorf("write folded stacks: %w", err)
	}
	return nil
}

// stack returns the text of a line without its value.
func (f *folded) stack(line foldedLine) string {
	frames := make([]string, len(line.path))
	for n, text := range line.path {
		frames[n] = f.texts[text]
	}
	return strings.Join(frames, ";")
}

// escapeFrame is escape.Text for a name in a list that is separated by semicolons. Rust's array
// types contain "; ". The semicolon becomes a colon, as other tools write it.
func escapeFrame(s string) string {
	return strings.ReplaceAll(escape.Text(s), ";", ":")
}
