package eval

import (
	"runtime"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/ringtap/ringtap/internal/bpftrace/check"
	"github.com/ringtap/ringtap/internal/bpftrace/syntax"
	"github.com/ringtap/ringtap/internal/bpftrace/types"
	"github.com/ringtap/ringtap/internal/bpftrace/value"
)

// fieldsHost knows two arguments of every tracepoint.
type fieldsHost struct{ check.Env }

func (fieldsHost) Args(*syntax.AttachPoint) (*types.Type, error) {
	return &types.Type{Kind: types.Struct, Name: "args", Size: 16, Fields: []types.Field{
		{Name: "id", Type: types.Int64}, {Name: "ret", Type: types.Int64, Offset: 8},
	}}, nil
}

func (fieldsHost) Complete(t *types.Type) *types.Type { return t }

func (fieldsHost) Constant(string) (int64, *types.Type, bool) { return 0, nil, false }

func benchMachine(b *testing.B, text string) *Machine {
	parsed, err := syntax.Parse("", text, syntax.Options{})
	if err != nil {
		b.Fatal(err)
	}
	p, err := check.Check(parsed, check.Options{Env: fieldsHost{}})
	if err != nil {
		b.Fatal(err)
	}
	m, err := New(p, Options{Host: &testHost{}})
	if err != nil {
		b.Fatal(err)
	}
	return m
}

func BenchmarkHits(b *testing.B) {
	for _, test := range []struct{ name, text string }{
		{"predicate", `tracepoint:a:b /args.id == 5 && pid == 42/ { @ = count() }`},
		{"predicate on comm", `tracepoint:a:b /comm == "postgres"/ { @ = count() }`},
		{"count by field", `tracepoint:a:b { @[args.id] = count() }`},
		{"count by comm", `tracepoint:a:b { @[comm] = count() }`},
		{"count by comm and field", `tracepoint:a:b { @[comm, args.id] = count() }`},
		{"entry and return", `tracepoint:a:b { @start[tid] = nsecs(monotonic) } tracepoint:a:c /@start[tid]/ { @ns = hist(nsecs(monotonic) - @start[tid]); delete(@start[tid]) }`},
	} {
		b.Run(test.name, func(b *testing.B) {
			m := benchMachine(b, test.text)
			v := &testValues{comm: "cat", list: []value.Value{{N: 7}, {N: 8}}}
			h := &Hit{Time: 1, PID: 42, TID: 43, Values: v}
			for range 100 {
				for i := range m.clauses {
					m.Hit(i, h)
				}
			}
			b.ReportAllocs()
			runtime.LockOSThread()
			defer runtime.UnlockOSThread()
			start := threadTime(b)
			for b.Loop() {
				for i := range m.clauses {
					h.Time += 100
					m.Hit(i, h)
				}
			}
			b.ReportMetric(float64(threadTime(b)-start)/float64(b.N), "cpu-ns/op")
		})
	}
}

// threadTime returns the processor time of the thread in nanoseconds: other work on the machine
// does not count.
func threadTime(b *testing.B) int64 {
	var u unix.Rusage
	if err := unix.Getrusage(unix.RUSAGE_THREAD, &u); err != nil {
		b.Fatal(err)
	}
	return u.Utime.Nano() + u.Stime.Nano()
}
