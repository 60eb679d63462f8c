package callchain

import (
	"encoding/binary"
	"testing"
)

// deepCapture is a stack of frames that all have the same row, CFA = rsp+32
// with rbx saved, and end at a function without a caller.
func deepCapture(tb testing.TB, frames int) (*fixedSpace, *Capture) {
	tb.Helper()
	b := newMaker(AMD64)
	var r row
	r.cfa = rule{kind: ruleValOffset, reg: amd64.sp, val: 32}
	r.set(uint64(amd64.ra), rule{kind: ruleOffset, val: -8})
	r.set(3, rule{kind: ruleOffset, val: -16})
	r.set(uint64(amd64.fp), rule{kind: ruleOffset, val: -24})
	b.begin(0x1000, 0x2000)
	b.add(0x1000, b.set(&r, amd64.ra, 0))
	b.begin(0x2000, 0x2100)
	b.add(0x2000, b.set(&row{regs: outermost(AMD64)}, amd64.ra, 0))
	space := &fixedSpace{version: 1, mappings: []Mapping{
		{Start: 0x401000, End: 0x403000, Offset: 0x1000, Object: 1, Table: b.finish()}}}
	c := &Capture{Stack: make([]byte, 32*frames)}
	for i := range frames {
		ra := uint64(0x401000 + i%50*16 + 5)
		if i == frames-1 {
			ra = 0x402010
		}
		binary.LittleEndian.PutUint64(c.Stack[i*32+24:], ra)
	}
	values := make([]uint64, 17)
	values[7], values[8] = 0x7ffc0000, 0x401003
	if err := c.Regs.Load(AMD64, AMD64.UserRegsMask(), values); err != nil {
		tb.Fatal(err)
	}
	return space, c
}

func BenchmarkUnwindWarm(b *testing.B) {
	const frames = 20
	space, c := deepCapture(b, frames-1)
	u := New(AMD64)
	dst := make([]Frame, 0, frames)
	b.ReportAllocs()
	for b.Loop() {
		var end End
		if dst, end = u.Unwind(dst[:0], space, c); end != Complete || len(dst) != frames {
			b.Fatalf("%d frames, %v", len(dst), end)
		}
	}
	b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/frames, "ns/frame")
}

func BenchmarkTableFind(b *testing.B) {
	table := compileFile(b, libraryPath(b, "libc.so.6"))
	compileAll(table)
	lo := table.units[0].start
	n, at := table.units[len(table.units)-1].end-lo, uint64(0)
	b.ReportAllocs()
	for b.Loop() {
		table.find(lo + at%n)
		at += 0x9e3779b9
	}
}

func BenchmarkInternRepeat(b *testing.B) {
	in := NewInterner()
	frames := make([]Frame, 20)
	for i := range frames {
		frames[i] = Frame{Object: 1, Offset: uint64(i) * 64}
	}
	in.Intern(frames, false)
	b.ReportAllocs()
	for b.Loop() {
		in.Intern(frames, false)
	}
}

func BenchmarkInternNew(b *testing.B) {
	in := NewInterner()
	frames := make([]Frame, 20)
	next := uint64(0)
	b.ReportAllocs()
	for b.Loop() {
		if in.Len() == 20_000 {
			in.Sweep()
		}
		next++
		frames[3].Offset = next
		in.Intern(frames, false)
	}
	b.ReportMetric(float64(in.Bytes())/float64(in.Len()*len(frames)), "B/frame")
}
