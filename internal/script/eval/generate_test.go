package eval

import (
	"fmt"
	"math/rand/v2"
	"strings"
)

// generator writes random programs of what both dialects mean the same by.
type generator struct{ *rand.Rand }

func (g generator) pick(list ...string) string { return list[g.IntN(len(list))] }

// number writes an integer expression.
func (g generator) number(depth int) string {
	if depth <= 0 || g.IntN(6) == 0 {
		switch g.IntN(4) {
		case 0:
			return fmt.Sprint(g.IntN(300))
		case 1:
			return fmt.Sprint(g.Uint64() >> (1 + g.IntN(62)))
		}
		return g.pick("$a", "$b", "$c", "$d", "$u", "$v", "@m[1]", "@m[2]", "@n")
	}
	x := g.number(depth - 1)
	switch g.IntN(9) {
	case 0:
		return fmt.Sprintf("(%s)(%s)", g.pick("int8", "uint8", "int16", "uint16", "int32", "uint32", "int64", "uint64"), x)
	case 1:
		return fmt.Sprintf("(%s %s %d)", x, g.pick("<<", ">>"), g.IntN(63))
	case 2:
		return fmt.Sprintf("(%s ? %s : %s)", g.truth(depth-1), x, g.number(depth-1))
	case 3:
		return fmt.Sprintf("(%s %s %d)", x, g.pick("/", "%"), 1+g.IntN(1000))
	case 4:
		// 0.17 fills the narrow result up with zeros when it is printed, and with signs elsewhere.
		return fmt.Sprintf("(%s(%s) + 0)", g.pick("~", "-"), x)
	case 5:
		return fmt.Sprintf("$t.%d", g.IntN(2))
	}
	return fmt.Sprintf("(%s %s %s)", x, g.pick("+", "-", "*", "&", "|", "^"), g.number(depth-1))
}

// truth writes a condition.
func (g generator) truth(depth int) string {
	switch g.IntN(5) {
	case 0:
		return fmt.Sprintf("(%s %s %s)", g.word(), g.pick("==", "!="), g.word())
	case 1:
		if depth > 0 {
			return fmt.Sprintf("(%s %s %s)", g.truth(depth-1), g.pick("&&", "||"), g.truth(depth-1))
		}
	}
	return fmt.Sprintf("(%s %s %s)", g.number(depth-1), g.pick("==", "!=", "<", "<=", ">", ">="), g.number(depth-1))
}

// word writes a string expression.
func (g generator) word() string {
	return g.pick("$s", "$w", `"abc"`, `"abd"`, `@s[1]`)
}

// program writes a program that prints so many expressions, one a line.
func (g generator) program(count int) (string, []string) {
	var b strings.Builder
	b.WriteString("BEGIN {\n")
	fmt.Fprintf(&b, "$a = (int64)%d; $b = (int64)-%d; $c = (int64)%d; $d = (int64)-%d;\n", g.Uint64()>>2, g.IntN(1000), g.IntN(100), g.Uint64()>>3)
	fmt.Fprintf(&b, "$u = (uint64)%d; $v = (uint64)%d;\n", g.Uint64(), g.IntN(1000))
	fmt.Fprintf(&b, "$s = \"abc\"; $w = \"%s\"; $t = ((int64)%d, (int64)-%d, \"x\");\n", g.pick("abc", "abcd", "b"), g.IntN(1<<20), g.IntN(1<<20))
	fmt.Fprintf(&b, "@m[1] = (int64)%d; @m[2] = (int64)-%d; @n = (int64)%d; @s[1] = \"abd\";\n", g.IntN(1<<30), g.IntN(1<<30), g.IntN(50))
	var list []string
	for range count {
		x := g.number(3)
		switch g.IntN(8) {
		case 0:
			x = g.truth(2)
		case 1:
			x = fmt.Sprintf("(%s, %s, %s)", x, g.word(), g.number(1))
		case 2:
			x = "(" + g.truth(1) + ` ? "abc" : "abd")`
		}
		if x[0] == '@' {
			x = "(" + x + " + 0)" // print(@x) prints the map
		}
		list = append(list, x)
		fmt.Fprintf(&b, "print(%s);\n", x)
	}
	b.WriteString("exit();\n}\n")
	return b.String(), list
}
