package eventfilter

import (
	"slices"
	"strings"
)

// maxKernelText is the longest text in a filter that the kernel takes, bytes
// (MAX_FILTER_STR_VAL in kernel/trace/trace.h).
const maxKernelText = 255

// ByAddress has the kernel compare the texts where they are, in the memory of the process
// that makes the call: Linux 5.18 and later do. It compares those in pages that are in
// memory. exact passes the records that match, and rest those of which the kernel can't
// tell, which Match decides; no record passes both. ok is false where no kernel can do so.
//
// The kernel looks at the first 1,023 bytes of a text.
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

// userText behind a field's name has the kernel read what the field points to from the
// memory of a process.
const userText = ".ustring"

// kernelPart is a filter that passes all that a node does; "" for one that passes
// everything.
func kernelPart(n node) string {
	text, _ := render(n, false)
	return text
}

// render writes a node in the kernel's words, with the texts by their addresses or, where
// they are left out, so that it passes all that the node does. ok is false if nothing
// is left.
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

// quote puts a text in the quotes that it does not have in it.
func quote(text string) string {
	if strings.Contains(text, `"`) {
		return "'" + text + "'"
	}
	return `"` + text + `"`
}
