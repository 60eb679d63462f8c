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
		return g.pick("$t.0", "$t.1", "$n.0", "$n.1.0", "$n.1.1.0", "@k[1, \"a\"]", "@k[2, \"b\"]", "@k[1, $s]")
	case 6:
		return fmt.Sprintf("strncmp(%s, %s, %d)", g.word(), g.word(), 1+g.IntN(5))
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
	return g.pick("$s", "$w", `"abc"`, `"abd"`, `@s[1]`, "$t.2", "$n.1.1.1")
}

// printf writes a printf with up to four conversions.
func (g generator) printf() string {
	format := g.pick("", "a ", "%% ", ": ")
	var args strings.Builder
	for range 1 + g.IntN(4) {
		flags := g.pick("", "", "-", "0")
		width := g.pick("", "", "1", "7", "20")
		if g.IntN(4) == 0 {
			precision := g.pick("", "", ".2", ".10")
			format += "%" + strings.TrimLeft(flags, "0") + width + precision + "s"
			fmt.Fprintf(&args, ", %s", g.word())
		} else {
			verb := g.pick("d", "u", "x", "X", "ld", "lu", "lx", "lld", "llu", "llx", "hd", "hhu", "hx", "c", "p")
			switch verb {
			case "c", "p":
				flags = strings.TrimLeft(flags, "0")
				if verb == "c" {
					fmt.Fprintf(&args, ", %d", 'a'+g.IntN(26))
					break
				}
				fallthrough
			default:
				fmt.Fprintf(&args, ", %s", g.number(1))
			}
			format += "%" + flags + width + verb
		}
		format += g.pick(" ", "|", "")
	}
	return fmt.Sprintf("printf(\"%s.\\n\"%s)", format, args.String())
}

// program writes a program that prints so many expressions, one a line.
func (g generator) program(count int) (string, []string) {
	var b strings.Builder
	b.WriteString("BEGIN {\n")
	fmt.Fprintf(&b, "$a = (int64)%d; $b = (int64)-%d; $c = (int64)%d; $d = (int64)-%d;\n", g.Uint64()>>2, g.IntN(1000), g.IntN(100), g.Uint64()>>3)
	fmt.Fprintf(&b, "$u = (uint64)%d; $v = (uint64)%d;\n", g.Uint64(), g.IntN(1000))
	fmt.Fprintf(&b, "$s = \"abc\"; $w = \"%s\"; $t = ((int64)%d, (int64)-%d, \"x\");\n", g.pick("abc", "abcd", "b"), g.IntN(1<<20), g.IntN(1<<20))
	fmt.Fprintf(&b, "@m[1] = (int64)%d; @m[2] = (int64)-%d; @n = (int64)%d; @s[1] = \"abd\";\n", g.IntN(1<<30), g.IntN(1<<30), g.IntN(50))
	fmt.Fprintf(&b, "$n = ((int64)%d, ((int64)-%d, ((int64)%d, \"abc\"))); @k[1, \"a\"] = (int64)%d; @k[2, \"b\"] = (int64)-%d; @k[1, \"abc\"] = (int64)7;\n",
		g.IntN(1<<40), g.IntN(300), g.IntN(1<<20), g.IntN(1<<33), g.IntN(1<<33))
	var list []string
	for range count {
		x := g.number(3)
		switch g.IntN(10) {
		case 8, 9:
			x = g.printf()
			list = append(list, x)
			fmt.Fprintf(&b, "%s;\n", x)
			continue
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

// maps writes a program that fills maps and prints them.
func (g generator) maps(count int) string {
	var b strings.Builder
	b.WriteString("BEGIN {\n")
	key := func() string { return fmt.Sprint(g.IntN(6) - 2) }
	value := func() string { return fmt.Sprint(int64(g.Uint64()>>(4+g.IntN(58))) - int64(g.IntN(2000))) }
	pair := func() string { return fmt.Sprintf(`%s, "%s"`, key(), g.pick("a", "bb", "c")) }
	for range count {
		switch g.IntN(17) {
		case 0:
			fmt.Fprintf(&b, "@count[%s] = count();\n", pair())
		case 1:
			fmt.Fprintf(&b, "@sum[%s] = sum(%s);\n", key(), value())
		case 2:
			// 0.17 keeps 4294967295 - n, so larger numbers are not there.
			fmt.Fprintf(&b, "@min[%s] = min(%d);\n", key(), g.IntN(100_000)-500)
		case 3:
			fmt.Fprintf(&b, "@max[%s] = max(%d);\n", key(), g.IntN(1000))
		case 4:
			// 0.17 puts all from 4G on into the interval [2G, 4G).
			fmt.Fprintf(&b, "@hist[%s] = hist(%d);\n", key(), int64(g.Uint64()>>(33+g.IntN(30)))-100)
		case 5:
			fmt.Fprintf(&b, "@lhist = lhist(%d, 0, 50, 7);\n", g.IntN(90)-25)
		case 6:
			fmt.Fprintf(&b, "@stats[%s] = stats(%d);\n", key(), g.IntN(1000))
		case 7:
			fmt.Fprintf(&b, "@avg[%s] = avg(%d);\n", key(), g.IntN(1000))
		case 8:
			fmt.Fprintf(&b, "@set[%s] = %s;\n", pair(), value())
		case 9:
			fmt.Fprintf(&b, "@inc[%s]%s;\n", key(), g.pick("++", "--"))
		case 10:
			fmt.Fprintf(&b, "@text[%s] = \"%s\";\n", key(), g.pick("x", "yy", "zzz"))
		case 11:
			fmt.Fprintf(&b, "delete(@%s);\n", g.pick("inc["+key()+"]", "count["+pair()+"]", "text["+key()+"]"))
		case 12:
			fmt.Fprintf(&b, "@add[%s] += %s;\n", key(), value())
		case 13:
			fmt.Fprintf(&b, "@pairs[%s] = hist(%d);\n", pair(), g.IntN(5000)-10)
		case 14:
			fmt.Fprintf(&b, "@lines[%s] = lhist(%d, 10, 90, 10);\n", pair(), g.IntN(120)-10)
		case 15:
			fmt.Fprintf(&b, "@tuple[%s] = ((int64)%s, \"%s\", ((int64)%s, \"z\"));\n", key(), value(), g.pick("x", "y", "w"), value())
		case 16:
			fmt.Fprintf(&b, "@deep[%s, %s, (int64)%s] = sum(%s);\n", key(), pair(), key(), value())
		}
	}
	all := []string{
		"count", "sum", "min", "max", "hist", "lhist", "stats", "avg", "set", "inc", "text", "add", "pairs", "lines", "tuple", "deep",
	}
	for _, name := range all {
		first := map[string]string{
			"count": `[1, "a"] = count()`, "lhist": " = lhist(1, 0, 50, 7)", "set": `[1, "a"] = 1`, "inc": "[1]++", "text": `[1] = "q"`, "add": "[1] += 1",
			"pairs": `[1, "a"] = hist(1)`, "lines": `[1, "a"] = lhist(1, 10, 90, 10)`, "tuple": `[1] = ((int64)1, "x", ((int64)2, "z"))`,
			"deep": `[1, 1, "a", (int64)1] = sum(-1)`,
		}[name]
		if first == "" {
			first = "[1] = " + name + "(-1)"
			if name == "max" || name == "stats" || name == "avg" {
				first = "[1] = " + name + "(1)"
			}
		}
		fmt.Fprintf(&b, "@%s%s;\n", name, first)
	}
	for _, name := range all {
		fmt.Fprintf(&b, "print(@%s);\n", name)
	}
	b.WriteString("exit();\n}\n")
	return b.String()
}
