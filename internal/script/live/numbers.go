package live

import (
	"math/bits"
	"strconv"
	"strings"

	"github.com/ringtap/ringtap/internal/script/plan"
)

// words are a filter in the kernel's words. The zero value lets every hit pass.
type words struct {
	text  string
	never bool // no hit passes
}

// number is a number that the kernel compares, as its records and programs have it.
type number struct {
	name   string
	bits   int
	signed bool
	// positive says that it is never below zero, though it has a sign.
	positive bool
	// whole says that the kernel compares it as a whole only, and not bit by bit.
	whole bool
}

// compare is a comparison of the number. ok is false if the kernel can't make it.
func (n number) compare(t *plan.Test) (w words, ok bool) {
	bitsOf, sign := n.possible(), 0
	changed := false
	for _, step := range t.Steps {
		switch {
		case !changed && n.fits(step):
			continue // it changes nothing
		case sign > 0 && step.Sign >= sign && step.Mask == 1<<step.Sign-1:
			continue
		case sign > 0 && step.Mask >= 1<<sign:
			return words{}, false
		}
		bitsOf, sign, changed = bitsOf&step.Mask, step.Sign, true
		if sign > 0 && bitsOf>>(sign-1) == 0 {
			sign = 0
		}
	}
	if !changed {
		return n.span(t), true
	}
	op, with := t.Op, t.N
	if op == ">" && with == 0 && sign == 0 && int64(bitsOf) >= 0 {
		op = "!="
	}
	if op != "==" && op != "!=" || n.whole || n.bits < 64 && bitsOf>>n.bits != 0 {
		return words{}, false
	}
	if sign > 0 {
		kept := with & (1<<sign - 1)
		if shift := 64 - sign; uint64(int64(kept<<shift)>>shift) != with {
			return constant(op == "!="), true
		}
		with = kept
	}
	if with&^bitsOf != 0 {
		return constant(op == "!="), true
	}
	return n.isBits(bitsOf, with, op == "!="), true
}

// constant is a filter that all hits pass, or none.
func constant(all bool) words { return words{never: !all} }

// possible are the bits that the number may have, when it has been extended to 64.
func (n number) possible() uint64 {
	switch {
	case n.positive:
		return 1<<(n.bits-1) - 1
	case n.signed || n.bits == 64:
		return 1<<64 - 1
	}
	return 1<<n.bits - 1
}

// fits tells whether a step leaves every value of the number as it is.
func (n number) fits(s plan.Step) bool {
	all := n.possible()
	if n.signed && !n.positive && s.Sign > 0 {
		return s.Sign >= n.bits && s.Mask == 1<<s.Sign-1
	}
	return all&^s.Mask == 0 && (s.Sign == 0 || all>>(s.Sign-1) == 0)
}

// isBits is that of some bits of the number exactly these are set, or not that.
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

// digits is a value of the number as the kernel reads it.
func (n number) digits(value uint64) string {
	if !n.signed {
		return strconv.FormatUint(value, 10)
	}
	shift := 64 - n.bits
	return strconv.FormatInt(int64(value<<shift)>>shift, 10)
}

// span are values one behind the other. The zero value has none.
type span struct {
	first, last uint64
	any         bool
}

// span is a comparison of the number as it is.
//
// Numbers of 64 bits have two halves, with the highest bit clear and set. In each of them the order
// of signed numbers is that of unsigned ones. They differ in which half is the lower one, and so may
// the number in the record and the program that compares it.
func (n number) span(t *plan.Test) words {
	low, high := n.halves()
	inLow, inHigh := low, high
	not := t.Op == "!=" || t.Op == ">" || t.Op == ">="
	end := t.N // of what is not greater
	switch t.Op {
	case "==", "!=":
		inLow, inHigh = low.from(t.N), high.from(t.N)
	case "<", ">=":
		if t.Signed && t.N == 1<<63 || !t.Signed && t.N == 0 {
			return constant(not) // nothing is less
		}
		end--
	}
	switch inLowHalf := int64(end) >= 0; {
	case t.Op == "==" || t.Op == "!=":
		inLow, inHigh = inLow.to(t.N), inHigh.to(t.N)
	case inLowHalf:
		inLow = low.to(end)
		if !t.Signed {
			inHigh = span{}
		}
	default:
		inHigh = high.to(end)
		if t.Signed {
			inLow = span{}
		}
	}
	if inLow == low && inHigh == high {
		return constant(!not)
	}
	first, second := inLow, inHigh
	if n.signed {
		first, second = inHigh, inLow
	}
	switch {
	case !first.any:
		first, second = second, span{}
	case second.any && first.last+1 == second.first:
		first, second = span{first.first, second.last, true}, span{}
	}
	switch {
	case !first.any:
		return constant(not)
	case !second.any && first.first == first.last && not:
		return words{text: n.name + " != " + n.digits(first.first)}
	}
	text := n.within(first)
	if second.any {
		text += " || " + n.within(second)
	}
	if not {
		text = "!(" + text + ")"
	}
	return words{text: text}
}

// halves are the values that the number may have, with the highest of 64 bits clear and set.
func (n number) halves() (low, high span) {
	all := n.possible()
	switch {
	case all < 1<<63:
		return span{0, all, true}, span{}
	case n.signed:
		return span{0, 1<<(n.bits-1) - 1, true}, span{-(1 << (n.bits - 1)), all, true}
	}
	return span{0, 1<<63 - 1, true}, span{1 << 63, all, true}
}

// from is what of a span is not below a value.
func (s span) from(value uint64) span {
	s.first = max(s.first, value)
	return s.checked()
}

// to is what of a span is not above a value.
func (s span) to(value uint64) span {
	s.last = min(s.last, value)
	return s.checked()
}

func (s span) checked() span {
	if !s.any || s.first > s.last {
		return span{}
	}
	return s
}

// within is that the number is one of a span.
func (n number) within(s span) string {
	if s.first == s.last {
		return n.name + " == " + n.digits(s.first)
	}
	low, high := n.halves()
	least, greatest := low.first, low.last
	if high.any && n.signed {
		least = high.first
	} else if high.any {
		greatest = high.last
	}
	var parts []string
	if s.first != least {
		parts = append(parts, n.name+" >= "+n.digits(s.first))
	}
	if s.last != greatest {
		parts = append(parts, n.name+" <= "+n.digits(s.last))
	}
	text := strings.Join(parts, " && ")
	if len(parts) > 1 {
		text = "(" + text + ")"
	}
	return text
}
