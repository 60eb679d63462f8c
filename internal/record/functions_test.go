package record

import (
	"testing"

	"github.com/ringtap/ringtap/callchain"
	"github.com/ringtap/ringtap/internal/perfdata"
	"github.com/ringtap/ringtap/internal/process"
	"github.com/ringtap/ringtap/internal/runtimes/interp"
	"github.com/ringtap/ringtap/internal/stack"
	"github.com/ringtap/ringtap/perfevent"
)

func TestAFunctionIsMappedOncePerProcess(t *testing.T) {
	python := func(file, name string, line int) stack.Function {
		return stack.Function{Level: interp.Level{Frame: interp.Frame{File: file, Function: name, Line: line}}, Runtime: "CPython 3.12"}
	}
	all := []stack.Function{python("/app/a.py", "f", 3), python("/app/a.py", "f", 12), python("/app/a.py", "g", 3), python("/app/a.py", "f", 0), python("/app/a.py", "f", 1<<30)}
	f := newFunctions(func(frame callchain.Frame) (stack.Function, bool) { return all[frame.Offset], true })
	var written []*perfevent.Mmap
	write := func(r perfevent.Record) error { written = append(written, r.(*perfevent.Mmap)); return nil }
	address := func(p *process.Process, function uint64) uint64 {
		a, err := f.address(p, callchain.Frame{Object: stack.Functions, Offset: function}, &perfevent.Sample{Header: perfevent.Header{PID: uint32(p.PID), TID: 7, Time: 99}}, write)
		if err != nil {
			t.Fatal(err)
		}
		return a
	}
	one, two := &process.Process{Index: 1, PID: 10}, &process.Process{Index: 2, PID: 20}
	first := address(one, 0)
	for _, tt := range []struct {
		name string
		got  uint64
		want uint64
	}{
		{"the same line", address(one, 0), first},
		{"another line", address(one, 1), first + 9},
		{"another process", address(two, 0), first},
		{"another function", address(one, 2), first + functionBytes},
		{"no line", address(one, 3), first - 3},
		{"a line beyond the last", address(one, 4), first - 3 + functionBytes - 2},
		{"a process that executed another program", address(&process.Process{Index: 3, PID: 10}, 2), first + functionBytes},
	} {
		if tt.got != tt.want {
			t.Errorf("%s: %#x, want %#x", tt.name, tt.got, tt.want)
		}
	}
	if len(written) != 4 || len(f.tables) != 2 {
		t.Errorf("%d mappings of %d functions, want 4 of 2", len(written), len(f.tables))
	}
	for _, m := range written {
		if m.Addr < perfdata.FunctionsBegin || m.Addr%functionBytes != 0 || m.Len != functionBytes || m.Time != 99 || m.Header.PID != m.PID {
			t.Errorf("%+v", m)
		}
	}
}
