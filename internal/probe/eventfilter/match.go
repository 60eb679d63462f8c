package eventfilter

import (
	"bytes"
	"strings"

	"github.com/ringtap/ringtap/ftrace"
	"github.com/ringtap/ringtap/ftrace/printfmt"
	"github.com/ringtap/ringtap/internal/text/match"
)

// Answer says whether a record matches.
type Answer uint8

// The answers.
const (
	No Answer = iota
	Yes
	Unknown // text needed for the decision could not be read
)

// Match reports whether a record that the kernel has passed matches the filter.
func (f *Filter) Match(record []byte) Answer {
	if f.match == nil {
		return Yes
	}
	return f.match.eval(record)
}

// ComparesText reports whether Match compares any text.
func (f *Filter) ComparesText() bool { return f.match != nil }

// Text returns the text that a parameter has in every matching record. It returns false if
// matching records may differ in it.
func (f *Filter) Text(parameter string) (text string, ok bool) {
	var find func(n node)
	find = func(n node) {
		switch n := n.(type) {
		case *both:
			find(n.a)
			find(n.b)
		case *textNode:
			if n.name == parameter && !n.Vector && n.glob == nil && !n.not {
				text, ok = n.value, true
			}
		}
	}
	find(f.match)
	return text, ok
}

// node is a part of a filter.
type node interface {
	eval(record []byte) Answer
}

type (
	both   struct{ a, b node }
	either struct{ a, b node }

	// kernelNode is a comparison that only the kernel can make. It occurs only where the
	// kernel's part has already decided it.
	kernelNode struct {
		pos  int // position in the filter
		text string
		not  bool
	}

	numberNode struct {
		field *ftrace.Field
		op    string
		value uint64
		not   bool
		text  string // in the kernel's syntax
	}

	textNode struct {
		Text
		name  string
		value string
		glob  *match.Glob // nil: value is the complete text
		not   bool
	}
)

func (n *both) eval(record []byte) Answer {
	a := n.a.eval(record)
	if a == No {
		return No
	}
	if b := n.b.eval(record); b != Yes {
		return b
	}
	return a
}

func (n *either) eval(record []byte) Answer {
	a := n.a.eval(record)
	if a == Yes {
		return Yes
	}
	if b := n.b.eval(record); b != No {
		return b
	}
	return a
}

func (n *kernelNode) eval([]byte) Answer { return Yes }

// answer returns Yes if yes differs from not, otherwise No.
func answer(yes, not bool) Answer {
	if yes != not {
		return Yes
	}
	return No
}

func (n *numberNode) eval(record []byte) Answer {
	v, ok := n.field.Uint(record)
	if !ok {
		return Unknown
	}
	less, value := v < n.value, n.value
	if n.field.Signed {
		signed, _ := n.field.Int(record)
		v, less = uint64(signed), signed < int64(value)
	}
	yes := false
	switch n.op {
	case "==":
		yes = v == value
	case "!=":
		yes = v != value
	case "<":
		yes = less
	case "<=":
		yes = less || v == value
	case ">":
		yes = !less && v != value
	case ">=":
		yes = !less
	case "&":
		yes = v&value != 0
	}
	return answer(yes, n.not)
}

func (n *textNode) eval(record []byte) Answer {
	if addr, ok := n.Pointer.Uint(record); ok && addr == 0 {
		return No
	}
	text, ok := n.Field.Data(record, 0)
	if !ok || len(text) == 0 {
		return Unknown
	}
	if n.Vector {
		text = bytes.ReplaceAll(bytes.TrimSuffix(text, []byte{0}), []byte{0}, []byte{' '})
	} else {
		text, _, _ = bytes.Cut(text, []byte{0})
	}
	yes := string(text) == n.value
	if n.glob != nil {
		yes = n.glob.MatchBytes(text)
	}
	if printfmt.SyscallTextCut(text) && n.dependsOnRest(string(text[:len(text)-len("...")]), yes) {
		return Unknown
	}
	return answer(yes, n.not)
}

// dependsOnRest reports whether the cut-off rest of a text decides the comparison. begin is the
// known part; yes is the result for it.
func (n *textNode) dependsOnRest(begin string, yes bool) bool {
	if n.glob == nil {
		return !yes && strings.HasPrefix(n.value, begin)
	}
	prefix := n.value
	if i := strings.IndexAny(prefix, match.Special+`\`); i >= 0 {
		prefix = prefix[:i]
	}
	if common := min(len(prefix), len(begin)); prefix[:common] != begin[:common] {
		return false
	}
	return !yes || !strings.HasSuffix(n.value, "*")
}

// walk calls do for each comparison.
func walk(n node, do func(node)) {
	switch n := n.(type) {
	case *both:
		walk(n.a, do)
		walk(n.b, do)
	case *either:
		walk(n.a, do)
		walk(n.b, do)
	default:
		do(n)
	}
}

func hasText(n node) (has bool) {
	walk(n, func(n node) {
		_, is := n.(*textNode)
		has = has || is
	})
	return has
}

// kernelOnly returns a comparison that only the kernel can make, or nil.
func kernelOnly(n node) (only *kernelNode) {
	walk(n, func(n node) {
		if is, ok := n.(*kernelNode); ok {
			only = is
		}
	})
	return only
}
