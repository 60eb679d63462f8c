// Package tabletest makes samples for tests of tables and of the collectors that fill them.
package tabletest

import (
	"encoding/binary"
	"testing"

	"github.com/ringtap/ringtap/callchain"
	"github.com/ringtap/ringtap/ftrace"
	"github.com/ringtap/ringtap/internal/process"
	"github.com/ringtap/ringtap/perfevent"
)

// Hit returns a sample of process pid at a time in ns, with a kernel callchain.
func Hit(pid uint32, time uint64, chain ...uint64) *perfevent.Sample {
	return &perfevent.Sample{
		Header:    perfevent.Header{PID: pid, TID: pid, Time: time},
		Callchain: append([]uint64{callchain.ContextKernel}, chain...),
	}
}

// StackSample returns a sample of a 64-bit program with a copied stack of words. All registers
// have the value sp.
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

// Raw returns a raw record with fields of eight bytes.
func Raw(fields ...uint64) (raw []byte) {
	for _, f := range fields {
		raw = binary.LittleEndian.AppendUint64(raw, f)
	}
	return raw
}

// Format returns the format of a tracepoint whose records Raw makes: all fields have eight bytes.
func Format(names ...string) *ftrace.Format {
	f := &ftrace.Format{System: "test", Name: "test", ID: 1}
	for i, name := range names {
		f.Fields = append(f.Fields, ftrace.Field{Name: name, Offset: 8 * i, Size: 8})
	}
	return f
}

// Sink has the methods of a table.Recorder that Handle calls.
type Sink interface {
	Advance(now uint64)
	Processes() *process.Table
	Record(perfevent.Record) error
}

// Handle passes a record to a recorder in the way that engine.Engine does.
func Handle(t testing.TB, to Sink, record perfevent.Record) {
	t.Helper()
	to.Advance(record.Common().Time)
	to.Processes().Handle(record)
	if err := to.Record(record); err != nil {
		t.Fatal(err)
	}
}
