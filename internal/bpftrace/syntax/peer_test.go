package syntax

import (
	"bytes"
	"fmt"
	"maps"
	"math/rand/v2"
	"os/exec"
	"regexp"
	"slices"
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
		line("string: %s", strings.NewReplacer("\\", "\\\\", "\n", "\\n", "\t", "\\t", "\r", "\\r", "\"", "\\\"").Replace(x.Value))
	case *Ident:
		line("%s: %s", wordKind(x.Name), x.Name)
	case *Positional:
		line("param: $%d", x.N)
	case *PositionalCount:
		line("param: $#")
	case *Sizeof:
		line("sizeof: %s", x.Type)
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

// wordKind is what bpftrace calls a bare word.
func wordKind(name string) string {
	if isBuiltin(name) {
		return "builtin"
	}
	return "identifier"
}

// dumpStmts writes statements as bpftrace -d of version 0.17 does.
func dumpStmts(s *strings.Builder, depth int, list []Stmt) {
	line := func(depth int, text string) { s.WriteString(strings.Repeat(" ", depth) + text + "\n") }
	for _, stmt := range list {
		switch stmt := stmt.(type) {
		case *ExprStmt:
			dump(s, depth, stmt.X)
		case *Assign:
			line(depth, "=")
			dump(s, depth+1, stmt.Left)
			right := stmt.Right
			if stmt.Op != "=" {
				right = &Binary{Op: strings.TrimSuffix(stmt.Op, "="), X: stmt.Left, Y: right}
			}
			dump(s, depth+1, right)
		case *If:
			line(depth, "if")
			dump(s, depth+1, stmt.Cond)
			line(depth+1, "then")
			dumpStmts(s, depth+2, stmt.Then.Stmts)
			switch other := stmt.Else.(type) {
			case *If:
				line(depth+1, "else")
				dumpStmts(s, depth+2, []Stmt{other})
			case *Block:
				line(depth+1, "else")
				dumpStmts(s, depth+2, other.Stmts)
			}
		case *Unroll:
			line(depth, "unroll")
			dump(s, depth+1, stmt.Count)
			line(depth+1, "block")
			dumpStmts(s, depth+2, stmt.Body.Stmts)
		case *Jump:
			line(depth, stmt.Word)
		default:
			line(depth, fmt.Sprintf("%T", stmt))
		}
	}
}

// TestPeerTreesOfToolsAreThoseOfBpftrace compares the trees of every third program that Debian
// 12's bpftrace comes with: it takes a while to start.
func TestPeerTreesOfToolsAreThoseOfBpftrace(t *testing.T) {
	requireBpftrace(t)
	resolved := regexp.MustCompile(`probe:/[^:\n]*/(lib\w+)\.so[^:\n]*:`)
	compared := 0
	tools := shippedTools(t)
	for i, path := range slices.Sorted(maps.Keys(tools)) {
		if i%3 != 0 {
			continue
		}
		theirs, ok := bpftraceTree(path)
		if !ok { // it ends before if a header or a type is missing
			continue
		}
		compared++
		p, err := Parse(path, tools[path], Options{Defines: map[string]string{"BPFTRACE_HAVE_BTF": "1"}})
		if err != nil {
			t.Error(err)
			continue
		}
		var ours strings.Builder
		for _, probe := range p.Probes {
			for _, point := range probe.Points {
				ours.WriteString(" " + point.Text + "\n")
			}
			if probe.Predicate != nil {
				ours.WriteString("  pred\n")
				dump(&ours, 3, probe.Predicate)
			}
			dumpStmts(&ours, 2, probe.Body.Stmts)
		}
		theirs = resolved.ReplaceAllString(theirs, "probe:$1:")
		theirs = strings.NewReplacer(" BEGIN\n", " begin\n", " END\n", " end\n", " kfunc:", " fentry:", " kretfunc:", " fexit:").Replace(theirs)
		if ours.String() != theirs {
			t.Errorf("%s is\n%s\nfor bpftrace\n%s", path, ours.String(), theirs)
		}
	}
	if compared < 8 {
		t.Errorf("bpftrace prints the trees of %d programs only", compared)
	}
}

// requireBpftrace skips the test unless bpftrace prints trees as Debian 12's does.
func requireBpftrace(t *testing.T) {
	t.Helper()
	version, err := exec.Command("bpftrace", "--version").Output()
	if err != nil {
		t.Skip("bpftrace is not installed")
	}
	if !bytes.Contains(version, []byte("v0.17")) {
		t.Skipf("this is %s, whose -d prints trees in another way", bytes.TrimSpace(version))
	}
}

// bpftraceTree returns the tree that bpftrace -d prints, without types.
func bpftraceTree(args ...string) (tree string, ok bool) {
	// It complains about types and probes after it has printed the tree.
	out, _ := exec.Command("bpftrace", append([]string{"-d"}, args...)...).CombinedOutput()
	_, after, _ := strings.Cut(string(out), "AST after: parser\n")
	_, tree, ok = strings.Cut(after, "\nProgram\n")
	tree, _, _ = strings.Cut(tree, "\n\n")
	return strings.ReplaceAll(tree, " :: type[none, ctx: 0]", "") + "\n", ok
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
	requireBpftrace(t)
	r := rand.New(rand.NewPCG(3, 4))
	var text strings.Builder
	for range 400 {
		text.WriteString("@r = " + randomExpr(r, 1+r.IntN(4)) + ";\n")
	}
	p, err := Parse("", "BEGIN {\n"+text.String()+"}", Options{})
	if err != nil {
		t.Fatal(err)
	}
	const between = "  =\n   map: @r\n"
	tree, ok := bpftraceTree("-e", "BEGIN {\n"+text.String()+"}")
	if !ok {
		t.Fatal("bpftrace prints no tree")
	}
	theirs := strings.Split(strings.TrimPrefix(tree, " BEGIN\n"+between), between)
	lines := strings.Split(text.String(), "\n")
	if len(theirs) != len(p.Probes[0].Body.Stmts) {
		t.Fatalf("bpftrace has %d statements, not %d", len(theirs), len(p.Probes[0].Body.Stmts))
	}
	for i, stmt := range p.Probes[0].Body.Stmts {
		var ours strings.Builder
		dump(&ours, 3, stmt.(*Assign).Right)
		if ours.String() != theirs[i] {
			t.Errorf("%s\nis\n%s\nfor bpftrace\n%s", lines[i], ours.String(), theirs[i])
		}
	}
}
