package eventfilter

import (
	"slices"
	"strings"
)

// maxKernelText is the longest text in bytes that the kernel accepts in a filter
// (MAX_FILTER_STR_VAL in kernel/trace/trace.h).
const maxKernelText = 255

// ByAddress returns filters that make the kernel compare text in the calling process's memory.
// Linux 5.18 and later can do that for pages that are in RAM. exact passes the records that
// match. rest passes the records that the kernel can't decide, which Match must check. No
// record passes both. ok is false if no kernel can do it.
//
// The kernel compares only the first 1,023 bytes of a text.
func (f *Filter) ByAddress() (exact, rest string, ok bool) {
	if f.match == nil {
		return "", "", false
	}
	var readable []string
	ok = true
	walk(f.match, func(n node) {
		if n, isText := n.(*textNode); isText {
			ok = ok && !n.Vector && len(n.value) <= maxKernelText
			if test := n.name + userText + ` ~ "*"`; !slices.Contains(readable, test) {
				readable = append(readable, test)
			}
		}
	})
	if !ok {
		return "", "", false
	}
	all := strings.Join(readable, " && ")
	exact, _ = render(f.match, true)
	rest = "!(" + all + ")"
	if f.Kernel != "" {
		rest += " && (" + f.Kernel + ")"
	}
	return all + " && (" + exact + ")", rest, true
}

// userText, after a field's name, makes the kernel read the text that the field points to from
// the process's memory.
const userText = ".ustring"

// kernelPart returns a filter that passes every record that n passes, or "" if it would pass
// everything.
func kernelPart(n node) string {
	text, _ := render(n, false)
	return text
}

// render writes a node in the kernel's syntax. With texts, it compares texts by their
// addresses. Without, it leaves them out, so that the result passes every record that n passes.
// ok is false if nothing is left.
func render(n node, texts bool) (text string, ok bool) {
	switch n := n.(type) {
	case *both:
		a, okA := render(n.a, texts)
		b, okB := render(n.b, texts)
		if !okA || !okB {
			return a + b, okA || okB
		}
		return "(" + a + ") && (" + b + ")", true
	case *either:
		a, okA := render(n.a, texts)
		b, okB := render(n.b, texts)
		if !okA || !okB {
			return "", false
		}
		return "(" + a + ") || (" + b + ")", true
	case *kernelNode:
		return negate(n.text, n.not), true
	case *numberNode:
		return negate(n.text, n.not), true
	case *textNode:
		op := " == "
		if n.glob != nil {
			op = " ~ "
		}
		if !texts {
			return "", false
		}
		return negate(n.name+userText+op+quote(n.value), n.not), true
	}
	return "", false
}

func negate(text string, not bool) string {
	if not {
		return "!(" + text + ")"
	}
	return text
}

// quote puts a text in the kind of quotes that it does not contain.
func quote(text string) string {
	if strings.Contains(text, `"`) {
		return "'" + text + "'"
	}
	return `"` + text + `"`
}
