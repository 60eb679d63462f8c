package annotate

import (
	"bytes"
	"cmp"
	"fmt"
	"math"
	"slices"
)

const (
	wholeCode = 40 // instructions of a function that is shown whole
	around    = 3  // instructions shown before and after a hot one, if there is room
)

// shown returns the lines of the code: all, or the stretches around hot instructions. If the
// terminal's height limits them, the hottest stretches that fit are shown.
func (t *text) shown() (lines []string) {
	room := math.MaxInt
	if t.opts.Height > 0 {
		room = t.opts.Height - bytes.Count(t.out.Bytes(), []byte("\n"))
	}
	if t.opts.All || len(t.Code) <= wholeCode {
		if lines = t.lines(slices.Repeat([]bool{true}, len(t.Code))); t.opts.All || len(lines) <= room {
			return lines
		}
	}
	most := Count{}
	for n := around; n > 0; n-- {
		if some, covered := t.stretches(n, room); lines == nil || covered.Period > most.Period || len(lines) > room {
			lines, most = some, covered
		}
	}
	return lines
}

// stretches returns the lines of the hottest instructions with n others before and after each, as many
// as there is room for but at least one, and the samples that they have.
func (t *text) stretches(n, room int) (lines []string, covered Count) {
	kept := make([]bool, len(t.Code))
	for _, hot := range t.hot() {
		more := slices.Clone(kept)
		for i := max(0, hot-n); i <= min(hot+n, len(t.Code)-1); i++ {
			more[i] = true
		}
		longer := t.lines(more)
		if lines != nil && len(longer) > room {
			break
		}
		kept, lines = more, longer
	}
	for i := range kept {
		if kept[i] {
			covered.add(t.Code[i].Count)
		}
	}
	return lines, covered
}

// minHot is how many instructions with samples count as hot at least, in a function without any
// above hotPercent.
const minHot = 10

// hot returns the indexes of the hot instructions, the hottest first.
func (t *text) hot() []int {
	var hot []int
	for i := range t.Code {
		if t.Code[i].Samples > 0 {
			hot = append(hot, i)
		}
	}
	slices.SortStableFunc(hot, func(a, b int) int { return cmp.Compare(t.Code[b].Period, t.Code[a].Period) })
	n := slices.IndexFunc(hot, func(i int) bool { return t.percent(t.Code[i].Count) < hotPercent })
	if n < 0 {
		return hot
	}
	return hot[:max(n, min(len(hot), minHot))]
}

// lines returns the lines of the instructions that are kept, with their source lines.
func (t *text) lines(kept []bool) (lines []string) {
	var source *SourceLine
	hint := " (--all shows all)"
	for i := 0; i < len(t.Code); i++ {
		if !kept[i] {
			from, left := i, Count{}
			for ; i < len(t.Code) && !kept[i]; i++ {
				left.add(t.Code[i].Count)
			}
			if i--; i > from {
				lines = append(lines, t.line(faint, t.gap(i-from+1, left)+hint))
				source, hint = nil, ""
				continue
			}
		}
		inst := &t.Code[i]
		if inst.Source != source && inst.Source != nil {
			lines = append(lines, t.heading(inst.Source))
		}
		source = inst.Source
		lines = append(lines, t.instruction(inst))
	}
	return lines
}

// gap returns the line of instructions that are left out.
func (t *text) gap(instructions int, left Count) string {
	percent := ""
	if left.Samples > 0 {
		percent = fmt.Sprintf("%.2f", t.percent(left))
	}
	return fmt.Sprintf("%7s   ...  %d instructions", percent, instructions)
}
