package offcpu

import (
	"encoding/binary"
	"testing"

	"github.com/ringtap/ringtap/callchain"
	"github.com/ringtap/ringtap/internal/collect/table"
	"github.com/ringtap/ringtap/internal/process"
	"github.com/ringtap/ringtap/internal/stack"
	"github.com/ringtap/ringtap/internal/testkit/tabletest"
	"github.com/ringtap/ringtap/perfevent"
)

// BenchmarkASwitch is what a switch costs whose stacks were seen before: two threads
// that wake each other, with stacks of ten frames in the kernel and a copy of the
// user stack.
func BenchmarkASwitch(b *testing.B) {
	processes := process.NewTable(process.Options{Host: process.Host{Proc: b.TempDir()}})
	defer processes.Close()
	c, err := New(Options{Switch: switchFormat, Whole: true, Blind: []int{}, Stacks: stack.Stacks{User: true, Kernel: true}})
	if err != nil {
		b.Fatal(err)
	}
	r := table.NewRecorder([]table.Collector{c}, processes, 0, table.Options{Memory: 64 << 20, Emit: func(*table.Window) {}})
	chain := []uint64{callchain.ContextKernel}
	for i := range uint64(10) {
		chain = append(chain, 0xffffffff81000000+i<<12)
	}
	var switches [2]*perfevent.Sample
	for i := range switches {
		tid := uint32(5 + i)
		for _, record := range []perfevent.Record{
			&perfevent.Fork{Header: perfevent.Header{Time: 1}, PID: tid, TID: tid, PPID: 0, PTID: 0},
			&perfevent.Mmap{Header: perfevent.Header{Time: 2}, PID: tid, TID: tid, Addr: 1 << 20, Len: 4096, Prot: 5, Filename: []byte("//anon")},
		} {
			tabletest.Handle(b, r, record)
		}
		s := tabletest.StackSample(1<<20, make([]uint64, 64)...)
		s.PID, s.TID, s.Callchain = tid, tid, chain
		s.Raw = binary.LittleEndian.AppendUint32(binary.LittleEndian.AppendUint64(nil, sleeps), 5+uint32(1-i))
		switches[i] = s
	}
	now := uint64(10)
	b.ReportAllocs()
	for b.Loop() {
		s := switches[now%2]
		s.Time = now
		now++
		r.Advance(s.Time)
		if err := r.Record(s); err != nil {
			b.Fatal(err)
		}
	}
}
