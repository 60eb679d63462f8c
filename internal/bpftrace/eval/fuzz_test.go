package eval

import (
	"io"
	"math/rand/v2"
	"testing"

	"github.com/ringtap/ringtap/internal/bpftrace/check"
	"github.com/ringtap/ringtap/internal/bpftrace/show"
	"github.com/ringtap/ringtap/internal/bpftrace/syntax"
	"github.com/ringtap/ringtap/internal/bpftrace/value"
)

func FuzzProgramsNeitherPanicNorHang(f *testing.F) {
	for seed := range uint64(4) {
		text, _ := generator{rand.New(rand.NewPCG(seed, 1))}.program(10)
		f.Add(text, seed%2 == 0)
	}
	for _, text := range []string{
		`BEGIN { @x[1, "a"] = count(); for ($kv : @x) { print($kv); delete(@x, $kv.0) } while (1) { @y++ } }`,
		`macro m($a, b) { $a += b; $a } fn f($x : int64) : int64 { return $x * 2; } BEGIN { $v = 1; print(m($v, 2)); print(f(3)) }`,
		`kprobe:f /pid == 1/ { $p = (uint32 *)arg0; @h[comm] = hist(*$p); @l = lhist(arg1, 0, 10, 1); @t = tseries(arg1, 1s, 3); print(@h); clear(@h) }`,
		`BEGIN { $t = (1, ("x", -2)); @s = stats($t.0); print((int8[])"ab"); $r = (a=1, b=2); print($r.a + $r.b); unroll(3) { $t.0 } }`,
		`BEGIN { if comptime (is_str("x")) { print(sizeof(uint64)) } else { fail("no") } let $x : string[4] = "abcdef"; print(str_concat($x, "y")); exit(1) }`,
	} {
		f.Add(text, true)
	}
	f.Fuzz(runText)
}

// runText checks a text and, if it is a program, runs every clause of it once.
func runText(t *testing.T, text string, current bool) {
	if len(text) > 4096 {
		return
	}
	parsed, err := syntax.Parse("", text, syntax.Options{})
	if err != nil {
		return
	}
	d := check.V017
	if current {
		d = check.Current
	}
	p, err := check.Check(parsed, check.Options{Dialect: d, Unsafe: true, Params: []string{"5", "x"}})
	if err != nil {
		return
	}
	host := &testHost{memory: map[uint64]string{4096: "some text\x00 and more of it"}}
	m, err := New(p, Options{Dialect: d, Output: show.NewPrinter(io.Discard, io.Discard, show.Current(), host), Host: host, steps: 500, bytes: 1 << 20})
	if err != nil {
		t.Fatalf("%s\n%v", text, err)
	}
	values := &testValues{comm: "cat"}
	h := &Hit{Time: 1, PID: 1, TID: 1, Probe: "begin", Values: values}
	for i, clause := range p.Clauses {
		values.list = make([]value.Value, len(clause.Sources))
		for j, s := range clause.Sources {
			values.list[j] = zeroOf(s.Type)
			values.list[j].N = 4096
		}
		m.Hit(i, h)
	}
}
