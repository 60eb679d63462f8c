package live

import (
	"math/bits"
	"strconv"
	"strings"

	"github.com/ringtap/ringtap/internal/bpftrace/plan"
)

// words is a filter in the kernel's syntax. The zero value lets every hit pass.
type words struct {
	text  string
	never bool // no hit passes
}

// number is a number in a hit's record that the kernel can compare with a constant.
type number struct {
	name   string
	bits   int
	signed bool
	// positive says that the number is never negative, although its type is signed.
	positive bool
	// whole says that the kernel can compare only the whole number, not some of its bits.
	whole bool
}

// compare returns a comparison of the number. ok is false if the kernel can't make it.
func (n number) compare(t *plan.Test) (w words, ok bool) {
	low, high := n.halves()
	for _, step := range t.Steps {
		if low, high, ok = low.through(step), high.through(step), low.stays(step) && high.moves(step); !ok {
			return n.compareBits(t)
		}
	}
	return n.span(t, low, high), true
}

// compareBits returns a comparison of some bits of the number. ok is false if the kernel can't make it.
func (n number) compareBits(t *plan.Test) (w words, ok bool) {
	some, sign := n.possible(), 0 // the bits that are compared, of which the highest may be a sign
	for _, step := range t.Steps {
		if sign > 0 && step.Mask >= 1<<sign {
			return words{}, false
		}
		some, sign = some&step.Mask, step.Sign
		if sign > 0 && some>>(sign-1) == 0 {
			sign = 0
		}
	}
	op, with := t.Op, t.N
	if op == ">" && with == 0 && sign == 0 && int64(some) >= 0 {
		op = "!="
	}
	if op != "==" && op != "!=" || n.whole || n.bits < 64 && some>>n.bits != 0 {
		return words{}, false
	}
	if sign > 0 {
		kept := with & (1<<sign - 1)
		if extended(kept, sign) != with {
			return constant(op == "!="), true
		}
		with = kept
	}
	if with&^some != 0 {
		return constant(op == "!="), true
	}
	return n.isBits(some, with, op == "!="), true
}

// extended extends a number of sign bits to 64 bits. The highest of these bits is its sign.
func extended(value uint64, sign int) uint64 {
	return uint64(int64(value<<(64-sign)) >> (64 - sign))
}

// constant returns a filter that all hits pass, or that no hit passes.
func constant(all bool) words { return words{never: !all} }

// possible returns the bits that may be set in the number after it is extended to 64 bits.
func (n number) possible() uint64 {
	switch {
	case n.positive:
		return 1<<(n.bits-1) - 1
	case n.signed || n.bits == 64:
		return 1<<64 - 1
	}
	return 1<<n.bits - 1
}

// isBits returns the condition that exactly the bits of set are set among the bits some of the number.
// If not is true, it returns the opposite condition.
func (n number) isBits(some, set uint64, not bool) words {
	if some == 0 {
		return constant(!not)
	}
	var parts []string
	if set == 0 {
		not = !not // any is set
		parts = append(parts, n.name+" & "+n.digits(some))
	} else {
		if clear := some &^ set; clear != 0 {
			parts = append(parts, "!("+n.name+" & "+n.digits(clear)+")")
		}
		for rest := set; rest != 0; rest &= rest - 1 {
			parts = append(parts, n.name+" & "+n.digits(1<<bits.TrailingZeros64(rest)))
		}
	}
	text := strings.Join(parts, " && ")
	if not {
		text = "!(" + text + ")"
	}
	return words{text: text}
}

// digits returns a value of the number in the kernel's syntax.
func (n number) digits(value uint64) string {
	if n.signed {
		return strconv.FormatInt(int64(extended(value, n.bits)), 10)
	}
	return strconv.FormatUint(value<<(64-n.bits)>>(64-n.bits), 10)
}

// span is a range of consecutive values. They are consecutive both as signed and as unsigned numbers.
// The zero value is empty.
type span struct {
	first, last uint64
	any         bool
}

// halves returns the values that the number may have, extended to 64 bits: the ones with its highest
// bit clear, and the ones with that bit set.
func (n number) halves() (low, high span) {
	top := uint64(1) << (n.bits - 1)
	low, high = span{0, top - 1, true}, span{top, top + (top - 1), true}
	switch {
	case n.positive:
		high = span{}
	case n.signed:
		high = span{-top, 1<<64 - 1, true}
	}
	return low, high
}

// stays reports whether a step changes none of the values.
func (s span) stays(step plan.Step) bool {
	return s.last&^step.Mask == 0 && (step.Sign == 0 || s.last>>(step.Sign-1) == 0)
}

// moves reports whether a step maps the values to as many consecutive values in the same order. In all
// values of s, the highest bit of the number is set.
func (s span) moves(step plan.Step) bool {
	if !s.any {
		return true
	}
	after := s.through(step)
	top := s.first & -s.first // below it, the first has no bits and the last has all
	return (top|(top-1))&^step.Mask == 0 && after.last-after.first == top-1 && int64(after.first^after.last) >= 0
}

// through returns the span from the first to the last value after a step.
func (s span) through(step plan.Step) span {
	s.first, s.last = s.first&step.Mask, s.last&step.Mask
	if step.Sign > 0 {
		s.first, s.last = extended(s.first, step.Sign), extended(s.last, step.Sign)
	}
	return s
}

// below returns the part of s that is at most value, compared as signed or unsigned numbers.
func (s span) below(value uint64, signed bool) span {
	if int64(s.first^value) < 0 { // the highest of the 64 bits differs
		if signed == (int64(value) < 0) {
			return span{}
		}
		return s
	}
	s.last = min(s.last, value)
	if s.first > s.last {
		return span{}
	}
	return s
}

// span returns a comparison of the whole number. low and high are the values of the number's two
// halves after the steps of the test.
func (n number) span(t *plan.Test, low, high span) words {
	not := t.Op == "!=" || t.Op == ">" || t.Op == ">="
	within := func(s span) span { return s.below(t.N, t.Signed) }
	switch t.Op {
	case "==", "!=":
		within = func(s span) span {
			if !s.any || t.N < s.first || t.N > s.last {
				return span{}
			}
			return span{t.N, t.N, true}
		}
	case "<", ">=":
		if t.Signed && t.N == 1<<63 || !t.Signed && t.N == 0 {
			return constant(not) // nothing is less
		}
		within = func(s span) span { return s.below(t.N-1, t.Signed) }
	}
	all, some := [2]span{low, high}, [2]span{within(low), within(high)}
	if some == all {
		return constant(!not)
	}
	if n.signed && high.any {
		all[0], all[1], some[0], some[1] = all[1], all[0], some[1], some[0]
	}
	least, greatest := all[0].first, all[1].last
	if !all[1].any {
		greatest = all[0].last
	}
	// The kernel orders the values as all does.
	first, second := some[0], some[1]
	switch {
	case !first.any:
		first, second = second, span{}
	case second.any && first.last == all[0].last && second.first == all[1].first:
		first, second = span{first.first, second.last, true}, span{}
	}
	switch {
	case !first.any:
		return constant(not)
	case !second.any && first.first == first.last && not:
		return words{text: n.name + " != " + n.digits(first.first)}
	}
	text := n.within(first, least, greatest)
	if second.any {
		text += " || " + n.within(second, least, greatest)
	}
	if not {
		text = "!(" + text + ")"
	}
	return words{text: text}
}

// within returns the condition that the number is in a span. The number's values go from
// minValue to maxValue.
func (n number) within(s span, minValue, maxValue uint64) string {
	if s.first == s.last {
		return n.name + " == " + n.digits(s.first)
	}
	var parts []string
	if s.first != minValue {
		parts = append(parts, n.name+" >= "+n.digits(s.first))
	}
	if s.last != maxValue {
		parts = append(parts, n.name+" <= "+n.digits(s.last))
	}
	text := strings.Join(parts, " && ")
	if len(parts) > 1 {
		text = "(" + text + ")"
	}
	return text
}
