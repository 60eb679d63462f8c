package syntax

import (
	"bytes"
	"fmt"
	"math/rand/v2"
	"os/exec"
	"strings"
	"testing"
)

// dump writes an expression as bpftrace -d of version 0.17 does, without types.
func dump(s *strings.Builder, depth int, x Expr) {
	line := func(format string, args ...any) {
		fmt.Fprintf(s, "%s%s\n", strings.Repeat(" ", depth), fmt.Sprintf(format, args...))
	}
	all := func(list ...Expr) {
		for _, x := range list {
			dump(s, depth+1, x)
		}
	}
	switch x := x.(type) {
	case *Int:
		sign := ""
		if x.Negative {
			sign = "-"
		}
		line("int: %s%d", sign, x.Value)
	case *Str:
		line("string: %s", x.Value)
	case *Ident:
		line("builtin: %s", x.Name)
	case *Var:
		line("variable: %s", x.Name)
	case *Map:
		line("map: %s", x.Name)
		all(x.Keys...)
	case *Call:
		line("call: %s", x.Func)
		all(x.Args...)
	case *Unary:
		switch {
		case x.Postfix: // below its operand
			dump(s, depth, x.X)
			fmt.Fprintf(s, "%s %s\n", strings.Repeat(" ", depth), x.Op)
		case x.Op == "*":
			line("dereference")
			all(x.X)
		default:
			line("%s", x.Op)
			all(x.X)
		}
	case *Binary:
		line("%s", x.Op)
		all(x.X, x.Y)
	case *Ternary:
		line("?:")
		all(x.Cond, x.Then, x.Else)
	case *Field:
		line(".")
		if x.Arrow {
			all(&Unary{Op: "*", X: x.X})
		} else {
			all(x.X)
		}
		line(" %s", x.Name)
	case *Member:
		line(".")
		all(x.X)
		line(" %d", x.N)
	case *Index:
		line("[]")
		all(x.X, x.Index)
	case *Cast:
		line("(%s)", x.Type)
		all(x.X)
	case *Tuple:
		line("tuple:")
		all(x.Elems...)
	default:
		line("%T", x)
	}
}

// randomExpr writes an expression with few parentheses.
func randomExpr(r *rand.Rand, depth int) string {
	next := func() string { return randomExpr(r, depth-1) }
	if depth == 0 {
		return []string{"1", "0x10", "1e3", "$a", "$b", "@", "@m[1, pid]", "@k[tid]++", "--$c", "nsecs", "arg0", `"s"`, "kstack(3)"}[r.IntN(13)]
	}
	switch r.IntN(16) {
	case 0:
		return next() + " ? " + next() + " : " + next()
	case 1:
		return "(" + next() + ")"
	case 2:
		return []string{"!", "~", "-", "*"}[r.IntN(4)] + "$u" + []string{"", "->f", ".f", "->g.h", ".1"}[r.IntN(5)]
	case 3:
		return "(" + []string{"uint8", "int64", "struct s *", "int32*"}[r.IntN(4)] + ")" + []string{"", "-", "!", "*"}[r.IntN(4)] + "$v->f"
	case 4:
		return "(" + next() + ", " + next() + ")"
	case 5:
		return []string{"str", "buf", "kaddr"}[r.IntN(3)] + "(" + next() + ", " + next() + ")"
	case 6:
		return "@n[" + next() + ", " + next() + "]"
	case 7:
		return "$w[" + next() + "]"
	case 8:
		return "((struct t *)" + next() + ")->f"
	}
	op := []string{"+", "-", "*", "/", "%", "<<", ">>", "<", ">", "<=", ">=", "==", "!=", "&", "|", "^", "&&", "||"}[r.IntN(18)]
	return next() + " " + op + " " + next()
}

// TestPeerTreesAreThoseOfBpftrace compares the trees of random expressions with those of
// Debian 12's bpftrace.
func TestPeerTreesAreThoseOfBpftrace(t *testing.T) {
	version, err := exec.Command("bpftrace", "--version").Output()
	if err != nil {
		t.Skip("bpftrace is not installed")
	}
	if !bytes.Contains(version, []byte("v0.17")) {
		t.Skipf("this is %s, whose -d prints trees in another way", bytes.TrimSpace(version))
	}
	r := rand.New(rand.NewPCG(3, 4))
	var text strings.Builder
	for range 400 {
		text.WriteString("@r = " + randomExpr(r, 1+r.IntN(4)) + ";\n")
	}
	p, err := Parse("", "BEGIN {\n"+text.String()+"}", Options{})
	if err != nil {
		t.Fatal(err)
	}
	// It complains about types after it has printed the tree.
	out, _ := exec.Command("bpftrace", "-d", "-e", "BEGIN {\n"+text.String()+"}").CombinedOutput()
	_, tree, ok := strings.Cut(string(out), "AST after: parser\n-------------------\nProgram\n BEGIN\n")
	if !ok {
		t.Fatalf("bpftrace prints no tree:\n%.2000s", out)
	}
	theirs := strings.Split(tree, "\n  =\n   map: @r :: type[none, ctx: 0]\n")
	theirs[0] = strings.TrimPrefix(theirs[0], "  =\n   map: @r :: type[none, ctx: 0]\n")
	lines := strings.Split(text.String(), "\n")
	if len(theirs) != len(p.Probes[0].Body.Stmts) {
		t.Fatalf("bpftrace has %d statements, not %d", len(theirs), len(p.Probes[0].Body.Stmts))
	}
	for i, stmt := range p.Probes[0].Body.Stmts {
		var ours strings.Builder
		dump(&ours, 3, stmt.(*Assign).Right)
		their, _, _ := strings.Cut(strings.ReplaceAll(theirs[i], " :: type[none, ctx: 0]", ""), "\n\n")
		if got := strings.TrimRight(ours.String(), "\n"); got != strings.TrimRight(their, "\n") {
			t.Errorf("%s\nis\n%s\nfor bpftrace\n%s", lines[i], got, their)
		}
	}
}
