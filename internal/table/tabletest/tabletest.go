// Package tabletest makes samples for the tests of tables and of what fills them.
package tabletest

import (
	"encoding/binary"
	"testing"

	"github.com/ringtap/ringtap/callchain"
	"github.com/ringtap/ringtap/ftrace"
	"github.com/ringtap/ringtap/internal/process"
	"github.com/ringtap/ringtap/perfevent"
)

// Markers of perf's callchains (enum perf_callchain_context).
const (
	ContextKernel = ^uint64(128 - 1)
	ContextUser   = ^uint64(512 - 1)
)

// Hit is a sample of a process at a time with a kernel callchain.
func Hit(pid uint32, time uint64, chain ...uint64) *perfevent.Sample {
	return &perfevent.Sample{
		Header:    perfevent.Header{PID: pid, TID: pid, Time: time},
		Callchain: append([]uint64{ContextKernel}, chain...),
	}
}

// StackSample is a sample of a 64-bit program's stack, all of whose registers hold one
// value.
func StackSample(sp uint64, words ...uint64) *perfevent.Sample {
	const abi64 = 2 // PERF_SAMPLE_REGS_ABI_64
	mask := callchain.Host().UserRegsMask()
	s := &perfevent.Sample{Regs: perfevent.Registers{ABI: abi64, Mask: mask}}
	for bit := range 64 {
		if mask>>bit&1 != 0 {
			s.Regs.Values = append(s.Regs.Values, sp)
		}
	}
	for _, w := range words {
		s.Stack = binary.LittleEndian.AppendUint64(s.Stack, w)
	}
	return s
}

// Raw is the raw record of fields of eight bytes.
func Raw(fields ...uint64) (raw []byte) {
	for _, f := range fields {
		raw = binary.LittleEndian.AppendUint64(raw, f)
	}
	return raw
}

// Format is a tracepoint with fields of eight bytes, as Raw makes them.
func Format(names ...string) *ftrace.Format {
	f := &ftrace.Format{System: "test", Name: "test", ID: 1}
	for i, name := range names {
		f.Fields = append(f.Fields, ftrace.Field{Name: name, Offset: 8 * i, Size: 8})
	}
	return f
}

// Sink is a table.Recorder.
type Sink interface {
	Advance(now uint64)
	Processes() *process.Table
	Record(perfevent.Record) error
}

// Handle hands a record to a recorder as a run.Engine does.
func Handle(t testing.TB, to Sink, record perfevent.Record) {
	t.Helper()
	to.Advance(record.Common().Time)
	to.Processes().Handle(record)
	if err := to.Record(record); err != nil {
		t.Fatal(err)
	}
}
