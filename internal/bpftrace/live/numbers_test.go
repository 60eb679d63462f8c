package live

import (
	"fmt"
	"math/rand/v2"
	"strconv"
	"strings"
	"testing"

	"github.com/ringtap/ringtap/ftrace"
	"github.com/ringtap/ringtap/internal/bpftrace/check"
	"github.com/ringtap/ringtap/internal/bpftrace/plan"
	"github.com/ringtap/ringtap/internal/bpftrace/types"
	"github.com/ringtap/ringtap/internal/text/cexpr"
)

// passes reports whether the kernel lets a value of a number pass
// (kernel/trace/trace_events_filter.c).
func passes(t *testing.T, w words, n number, value uint64) bool {
	t.Helper()
	if w.text == "" {
		return !w.never
	}
	parser := cexpr.Parser{Filter: true, Operand: "a comparison"}
	e, err := parser.Parse(w.text)
	if err != nil {
		t.Fatalf("%q: %v", w.text, err)
	}
	var eval func(e cexpr.Expr) bool
	eval = func(e cexpr.Expr) bool {
		op := e.(*cexpr.Operation)
		switch op.Op {
		case "!":
			return !eval(op.Args[0])
		case "&&":
			return eval(op.Args[0]) && eval(op.Args[1])
		case "||":
			return eval(op.Args[0]) || eval(op.Args[1])
		}
		return compares(t, n, op, value)
	}
	return eval(e)
}

// compares makes one comparison as the kernel does: in the number's own type.
func compares(t *testing.T, n number, op *cexpr.Operation, value uint64) bool {
	t.Helper()
	text := ""
	switch x := op.Args[1].(type) {
	case *cexpr.Number:
		text = strconv.FormatUint(x.Value, 10)
	case *cexpr.Operation:
		text = "-" + strconv.FormatUint(x.Args[0].(*cexpr.Number).Value, 10)
	}
	shift := 64 - n.bits
	if n.signed {
		with, err := strconv.ParseInt(text, 10, 64)
		if err != nil || with<<shift>>shift != with {
			t.Fatalf("%s is not of %d bits", text, n.bits)
		}
		return ordered(op.Op, int64(value<<shift)>>shift, with)
	}
	with, err := strconv.ParseUint(text, 10, 64)
	if err != nil || with<<shift>>shift != with {
		t.Fatalf("%s is not of %d bits", text, n.bits)
	}
	return ordered(op.Op, value, with)
}

func ordered[T int64 | uint64](op string, x, y T) bool {
	switch op {
	case "==":
		return x == y
	case "!=":
		return x != y
	case "<":
		return x < y
	case "<=":
		return x <= y
	case ">":
		return x > y
	case ">=":
		return x >= y
	}
	return x&y != 0
}

// tested tells what the language makes of a test of a value, which is extended to 64 bits.
func tested(test *plan.Test, value uint64) bool {
	for _, s := range test.Steps {
		if value &= s.Mask; s.Sign > 0 {
			value = check.Wrap(value, &types.Type{Kind: types.Int, Size: s.Sign / 8, Signed: true})
		}
	}
	return check.Arithmetic(test.Op, value, test.N, test.Signed) != 0
}

// values are values of a number, extended: all of a byte, else those around the ends and some.
func (n number) values(random *rand.Rand) []uint64 {
	var all []uint64
	low, high := n.halves()
	for _, half := range []span{low, high} {
		if !half.any {
			continue
		}
		if n.bits == 8 {
			for v := half.first; ; v++ {
				all = append(all, v)
				if v == half.last {
					break
				}
			}
			continue
		}
		for i := range uint64(3) {
			all = append(all, half.first+i, half.last-i, half.first+(half.last-half.first)/2+i)
		}
		for range 8 {
			if v := random.Uint64() >> random.IntN(64); v >= half.first && v <= half.last {
				all = append(all, v)
			}
		}
	}
	return all
}

func TestTheKernelComparesNumbersAsProgramsDo(t *testing.T) {
	random := rand.New(rand.NewPCG(1, 2))
	var steps [][]plan.Step
	steps = append(steps, nil)
	for _, size := range []int{8, 16, 32} {
		wrap := plan.Step{Mask: 1<<size - 1}
		signed := plan.Step{Mask: 1<<size - 1, Sign: size}
		lower := plan.Step{Mask: 1<<(size-1) - 1}
		steps = append(steps, []plan.Step{lower}, []plan.Step{signed, lower}, []plan.Step{{Mask: 1<<(size+1) - 1}},
			[]plan.Step{wrap}, []plan.Step{signed}, []plan.Step{wrap, {Mask: 0x85}}, []plan.Step{signed, {Mask: 0x185}},
			[]plan.Step{wrap, {Mask: 1<<16 - 1, Sign: 16}}, []plan.Step{signed, {Mask: 1<<32 - 1}})
	}
	steps = append(steps, []plan.Step{{Mask: 1}}, []plan.Step{{Mask: 0x80}}, []plan.Step{{Mask: 0x8001}}, []plan.Step{{Mask: 1 << 63}},
		[]plan.Step{{Mask: 0}}, []plan.Step{{Mask: 0xff00ff00ff00ff00}}, []plan.Step{{Mask: 0x70}, {Mask: 0xff, Sign: 8}})
	for _, n := range []number{
		{bits: 8}, {bits: 8, signed: true}, {bits: 16}, {bits: 16, signed: true}, {bits: 32}, {bits: 32, signed: true},
		{bits: 64}, {bits: 64, signed: true}, {bits: 32, signed: true, positive: true}, {bits: 32, signed: true, positive: true, whole: true},
	} {
		n.name = "n"
		values := n.values(random)
		with := []uint64{0, 1, 2, 5, 127, 128, 129, 255, 256, 1<<15 - 1, 1 << 15, 1<<16 - 1, 1 << 16, 1<<31 - 1, 1 << 31, 1<<32 - 1, 1 << 32,
			1<<63 - 1, 1 << 63, 1<<63 + 1, 1<<64 - 1<<31, 1<<64 - 1<<31 - 1, 1<<64 - 1<<15, 1<<64 - 1<<15 - 1, 1<<64 - 1, 1<<64 - 2, 1<<64 - 128, 1<<64 - 129}
		for _, s := range steps {
			for _, op := range []string{"==", "!=", "<", "<=", ">", ">="} {
				for _, k := range with {
					for _, signed := range []bool{false, true} {
						test := &plan.Test{Field: "n", Steps: s, Op: op, N: k, Signed: signed}
						w, ok := n.compare(test)
						if !ok {
							if len(s) == 0 {
								t.Errorf("%+v: %s is left to the program", n, test)
							}
							continue
						}
						for _, v := range values {
							if got, want := passes(t, w, n, v), tested(test, v); got != want {
								t.Fatalf("%+v: %s (signed: %v) is %+v, and of %#x %v, want %v", n, test, signed, w, v, got, want)
							}
						}
					}
				}
			}
		}
	}
}

// byteFormat is of records that have a byte n.
func byteFormat() *ftrace.Format {
	return &ftrace.Format{Fields: []ftrace.Field{{Name: "n", Type: "unsigned char", Offset: 8, Size: 1}}}
}

func TestConditionsAreJoinedAsTheyAre(t *testing.T) {
	random := rand.New(rand.NewPCG(3, 4))
	n := number{name: "n", bits: 8}
	var make func(depth int) *plan.Condition
	make = func(depth int) *plan.Condition {
		if depth == 0 || random.IntN(3) == 0 {
			ops := []string{"==", "!=", "<", "<=", ">", ">="}
			return &plan.Condition{Test: plan.Test{Field: "n", Op: ops[random.IntN(len(ops))], N: random.Uint64N(300)}}
		}
		c := &plan.Condition{Op: []string{"&&", "||"}[random.IntN(2)]}
		for range 1 + random.IntN(3) {
			c.Of = append(c.Of, make(depth-1))
		}
		return c
	}
	var holds func(c *plan.Condition, v uint64) bool
	holds = func(c *plan.Condition, v uint64) bool {
		if c.Op == "" {
			return tested(&c.Test, v)
		}
		for _, of := range c.Of {
			if holds(of, v) == (c.Op == "||") {
				return c.Op == "||"
			}
		}
		return c.Op == "&&"
	}
	for range 300 {
		c := make(4)
		f := translator{format: byteFormat()}
		w := f.words(c)
		for v := range uint64(256) {
			if got, want := passes(t, w, n, v), holds(c, v); got != want {
				t.Fatalf("%s is %+v, and of %d %v, want %v", c, w, v, got, want)
			}
		}
	}
}

func TestWhatTheKernelCannotCompareIsLeftOut(t *testing.T) {
	test := func(field string) *plan.Condition {
		return &plan.Condition{Test: plan.Test{Field: field, Op: "==", N: 5}}
	}
	for _, tt := range []struct {
		c    *plan.Condition
		text string
		left string
	}{
		{&plan.Condition{Op: "&&", Of: []*plan.Condition{test("n"), test("gone")}}, "n == 5", "gone == 5"},
		{&plan.Condition{Op: "||", Of: []*plan.Condition{test("n"), test("gone")}}, "", "gone == 5"},
		{&plan.Condition{Op: "||"}, "", ""},
		{&plan.Condition{Test: plan.Test{Header: "tid", Op: "==", N: 5}}, "", "common_pid == 5"},
		{&plan.Condition{Test: plan.Test{Header: "comm", IsText: true, Op: "!=", Text: "it's"}}, `COMM != "it's"`, ""},
	} {
		f := translator{format: byteFormat(), nested: true}
		if w := f.words(tt.c); w.text != tt.text || strings.Join(f.left, ", ") != tt.left {
			t.Errorf("%s: %q, and %q is left out", tt.c, w.text, f.left)
		}
	}
	if never := (&translator{format: byteFormat()}).words(&plan.Condition{Op: "||"}); fmt.Sprint(never) != "{ true}" {
		t.Errorf("nothing is %v", never)
	}
}
