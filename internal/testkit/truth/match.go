package truth

import (
	"fmt"
	"slices"
	"strings"
)

// Gap in a chain stands for zero or more frames that are not the program's own: libc
// between a call and its callback, or the vdso below the last function.
const Gap = "..."

// Match compares the function names of one sampled stack, root first, with
// the program's chain and returns what differs, or nil. Above the chain the
// stack may have any frames that the chain does not name. Parameters and
// return types of demangled names do not matter. Names that are unknown are
// "" and match only a Gap.
func (b Built) Match(names []string) error {
	i := skipGap(b.Chain, names, 0)
	for _, want := range b.Chain {
		switch {
		case want == Gap:
			i = skipGap(b.Chain, names, i)
		case i == len(names):
			return fmt.Errorf("%s: the stack ends where %s should be: %q", b.Name, want, names)
		case base(names[i]) != want:
			return fmt.Errorf("%s: frame %d is %q, want %s: %q", b.Name, i, names[i], want, names)
		default:
			i++
		}
	}
	if i < len(names) {
		return fmt.Errorf("%s: frame %d, %q, is below the leaf: %q", b.Name, i, names[i], names)
	}
	return nil
}

// Busy reports whether a stack contains the innermost function of the program's chain: the program
// was doing its work, not starting or ending. If the chain ends with a Gap, Busy cannot know that,
// because the stack may be lost below that function, and returns true.
func (b Built) Busy(names []string) bool {
	last := b.Chain[len(b.Chain)-1]
	return last == Gap || slices.ContainsFunc(names, func(name string) bool { return base(name) == last })
}

// skipGap returns the index of the first name, from i on, that is in the chain, or len(names).
func skipGap(chain, names []string, i int) int {
	for i < len(names) && !slices.Contains(chain, base(names[i])) {
		i++
	}
	return i
}

// base reduces a demangled name to the form in the chains, without parameters,
// qualifiers and return type.
//
//	int shapes::measure<int>(shapes::Shape&, int) → shapes::measure<int>
//	main.(*walker).step                           → main.(*walker).step
func base(name string) string {
	name = strings.TrimSuffix(name, " const")
	if strings.HasSuffix(name, ")") {
		name = name[:openingParenthesis(name)]
	}
	depth := 0
	for i := len(name) - 1; i >= 0; i-- {
		switch name[i] {
		case ')', '>', '}':
			depth++
		case '(', '<', '{':
			depth--
		case ' ':
			if depth == 0 {
				return name[i+1:]
			}
		}
	}
	return name
}

// openingParenthesis returns the index of the parenthesis that the last byte of
// name closes, or len(name) if there is none.
func openingParenthesis(name string) int {
	depth := 0
	for i := len(name) - 1; i >= 0; i-- {
		switch name[i] {
		case ')':
			depth++
		case '(':
			if depth--; depth == 0 {
				return i
			}
		}
	}
	return len(name)
}
