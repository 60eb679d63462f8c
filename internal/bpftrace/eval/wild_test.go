package eval

import (
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"
)

// wild writes programs of the whole grammar. Most are wrong somewhere.
type wild struct {
	*rand.Rand
	left int // expressions and statements that may still be written
}

func (w *wild) pick(list ...string) string { return list[w.IntN(len(list))] }

func (w *wild) expr() string {
	w.left--
	if w.left < 0 || w.IntN(3) == 0 {
		return w.pick("1", "0", "-5", "300", "18446744073709551615", `"abc"`, `""`, "$a", "$b", "$c", "$t", "@m", "@n[1]", "@k[1, \"x\"]",
			"pid", "comm", "nsecs", "arg0", "kstack", "ustack(perf, 3)", "true", "$1", "$2", "$#", "uid", "username", "func", "probe", "curtask", "7", "8", "$a", "$b")
	}
	x := w.expr
	switch w.IntN(29) {
	case 0, 1, 2, 3, 4:
		return fmt.Sprintf("(%s %s %s)", x(), w.pick("+", "-", "*", "/", "%", "&", "|", "^", "<<", ">>", "==", "!=", "<", ">=", "&&", "||"), x())
	case 5:
		return fmt.Sprintf("(%s%s)", w.pick("-", "~", "!", "*", "&"), x())
	case 6:
		return fmt.Sprintf("(%s)(%s)", w.pick("int8", "uint16", "int64", "uint64 *", "int8[]", "uint8[4]", "bool", "string[4]", "typeof($a)"), x())
	case 7:
		return fmt.Sprintf("(%s ? %s : %s)", x(), x(), x())
	case 8:
		return fmt.Sprintf("(%s, %s)", x(), x())
	case 9:
		return fmt.Sprintf("%s.%d", w.pick("$t", "(1, 2)"), w.IntN(2))
	case 10:
		return fmt.Sprintf("%s[%s]", w.pick("$a", "@n", "@k", "$t", "arg0"), x())
	case 11:
		return fmt.Sprintf("@%s[%s, %s]", w.pick("n", "k"), x(), x())
	case 12:
		return w.pick("$a", "$b", "@m", "@n[1]") + w.pick("++", "--")
	case 13:
		return fmt.Sprintf("(a=%s, b=%s)%s", x(), x(), w.pick("", ".a", ".c"))
	case 14:
		return fmt.Sprintf("{ %s %s }", w.stmt(), x())
	case 15:
		return fmt.Sprintf("%s(%s, %s)", w.pick("strcontains", "strstr", "str", "buf", "has_key", "delete", "str_concat", "ntop", "f", "mac"), x(), x())
	case 16:
		return fmt.Sprintf("%s(%s)", w.pick("str", "strlen", "len", "bswap", "ksym", "usym", "sizeof", "delete", "is_str", "macaddr", "strerror", "kptr", "mac", "ntop", "f"), x())
	case 17:
		return fmt.Sprintf("strncmp(%s, %s, %s)", x(), x(), x())
	case 18:
		return fmt.Sprintf("(%s ?: %s)", x(), x())
	case 19:
		return fmt.Sprintf("strftime(\"%%H\", %s)", x())
	case 20:
		return "comptime " + x()
	case 21:
		return fmt.Sprintf("memcmp(%s, %s, %s)", x(), x(), x())
	case 23:
		return fmt.Sprintf("typeinfo(%s)%s", x(), w.pick("", ".base_type", ".full_type[0]", ".none"))
	case 24:
		return fmt.Sprintf("(typeinfo(%s) %s typeinfo(%s))", x(), w.pick("==", "!=", "<"), x())
	case 25:
		return w.pick("config", "config.max_strlen", "config.stack_mode", "args", "args.a", "comm(7)", "ppid(curtask)", "curtask.comm", "&$a", "&@m")
	case 26:
		return fmt.Sprintf("{ if (%s) { %s } %s }", x(), w.pick("return;", "break;", "continue;", "exit();"), x())
	case 27:
		return fmt.Sprintf("container_of(%s, %s, %s)", x(), w.pick("struct s", "uint64", "5"), w.pick("a", "a.b", "1"))
	case 22:
		return fmt.Sprintf("find(@n, %s, $f)", x())
	}
	return w.pick("$f", "@s", "ncpus", "rand", "elapsed", "retval", "cgroup_path(5)")
}

func (w *wild) block() string {
	var b strings.Builder
	b.WriteString("{ ")
	for range w.IntN(4) {
		b.WriteString(w.stmt())
	}
	b.WriteString(" }")
	return b.String()
}

func (w *wild) stmt() string {
	w.left--
	if w.left < 0 {
		return "@m = 1; "
	}
	x := w.expr
	switch w.IntN(22) {
	case 0, 1, 2:
		return fmt.Sprintf("%s %s %s; ", w.pick("$a", "$b", "$c", "$t"), w.pick("=", "=", "=", "+=", "<<=", "/="), x())
	case 3, 4:
		return fmt.Sprintf("%s %s %s; ", w.pick("@m", "@n[1]", "@n["+x()+"]", "@k[1, \"x\"]"), w.pick("=", "=", "-=", "%="), x())
	case 5:
		return fmt.Sprintf("@%s[%s] = %s(%s); ", w.pick("h", "s", "q"), x(), w.pick("hist", "sum", "min", "max", "avg", "stats"), x())
	case 6:
		return fmt.Sprintf("@c[%s] = count(); @l = lhist(%s, 0, 100, 7); @z = tseries(%s, 1s, 4, \"max\"); ", x(), x(), x())
	case 7:
		return fmt.Sprintf("if (%s) %s else %s ", x(), w.block(), w.block())
	case 8:
		return fmt.Sprintf("while (%s) %s ", x(), w.block())
	case 9:
		return fmt.Sprintf("for ($kv : @%s) %s ", w.pick("m", "n", "k", "c", "h"), w.block())
	case 10:
		return fmt.Sprintf("for ($i : %s..%s) %s ", x(), x(), w.block())
	case 11:
		return fmt.Sprintf("unroll (%s) %s ", w.pick("3", x()), w.block())
	case 12:
		return w.pick("break; ", "continue; ", "return; ", "exit(); ")
	case 13:
		return fmt.Sprintf("let %s%s = %s; ", w.pick("$l", "$a"), w.pick("", " : int16", " : string[3]", " : (uint8, string)"), x())
	case 14:
		return fmt.Sprintf("printf(\"%s\", %s, %s); ", w.pick("%d %s", "%s %r", "%lx %c", "%p %s"), x(), x())
	case 15:
		return fmt.Sprintf("print(%s); ", w.pick("@m", "@n", "@c", "@h", "@k", "@l", "@z", "@n[1]", x()))
	case 16:
		return w.pick("clear(@n); ", "zero(@m); ", "delete(@n[1]); ", "time(); ", "join(arg0); ", "system(\"x\"); ")
	case 17:
		return fmt.Sprintf("if comptime (%s) %s ", x(), w.block())
	case 18:
		return w.block()
	case 19:
		return fmt.Sprintf("mac2($a, @m, %s); ", x())
	case 20:
		return fmt.Sprintf("@n[%s] %s %s; _ = delete(@n, %s); ", x(), w.pick("+=", "|=", "-="), x(), x())
	}
	return "print(" + x() + "); "
}

func (w *wild) program() string {
	var b strings.Builder
	fmt.Fprintf(&b, "macro mac(e) { %s %s }\nmacro mac2($v, @w, e) { $v = e; @w = $v; }\n", "let $l = e;", "$l")
	fmt.Fprintf(&b, "fn f($x : %s) : int64 { %s return %s; }\n", w.pick("int64", "string[8]"), w.pick("", "$y = $x;", "@m = 1;"), w.pick("5", "@m", "f($x)"))
	for range 1 + w.IntN(2) {
		b.WriteString(w.pick("kprobe:f ", "kprobe:f ", "kprobe:f ", "uretprobe:/a:b ", "end "))
		if w.IntN(3) == 0 {
			fmt.Fprintf(&b, "/%s/ ", w.pick("@m", "@n[1] > 0", "pid == 1", "comm == \"x\""))
		}
		b.WriteString("{ $a = 1; $b = (uint8)2; $c = 3; $f = 4; $t = (1, \"x\"); @m = 1; @n[1] = 2; @k[1, \"x\"] = 3; @s = 5; ")
		b.WriteString(w.stmt() + w.stmt() + "}\n")
	}
	return b.String()
}

func FuzzWildProgramsNeitherPanicNorHang(f *testing.F) {
	for seed := range uint64(300) {
		f.Add(seed, 30, seed%2 == 0)
	}
	f.Fuzz(func(t *testing.T, seed uint64, size int, current bool) {
		w := &wild{rand.New(rand.NewPCG(seed, 3)), min(max(size, 0), 300)}
		runText(t, w.program(), current)
	})
}
