package callchain

import (
	"encoding/binary"
	"slices"
	"testing"

	"github.com/ringtap/ringtap/internal/object/gotable"
)

// Functions of a Go program that calls C, each 0x100 bytes, and its two stacks.
const (
	goOuter     = 0x1000 // outermost
	goCaller    = 0x1100 // an ordinary function, with a frame of 16 bytes
	goSwitch    = 0x1200 // systemstack
	goCgo       = 0x1300 // asmcgocall
	goCallback  = 0x1400 // cgocallback
	goCross     = 0x1500 // crosscall2
	goStandIn   = 0x1600 // systemstack_switch
	goFinal     = 0x1700 // mcall
	goUnknown   = 0x1800 // gogo
	goC         = 0x1900 // C, without a frame record
	goCFramed   = 0x1a00 // C, with one
	goEnd       = 0x1b00
	systemStack = 0x7f0000
	goroutineG  = 0xc00000 // a runtime.g
	goroutine   = 0xc10000 // its stack
)

// goSpace is such a program. Functions keep the frame pointer below the return address.
func goSpace(a Arch) *fixedSpace {
	b := newMaker(a)
	m := describe(a)
	add := func(start uint64, set func() uint16) {
		b.begin(start, start+0x100)
		b.add(start, set())
	}
	add(goOuter, func() uint16 { return b.set(&row{regs: outermost(a)}, m.ra, 0) })
	add(goCaller, func() uint16 { return b.goSet(a, 16, 0) })
	add(goSwitch, func() uint16 { return b.switchSet(a, 8, 0, 0) })
	add(goCgo, func() uint16 { return b.switchSet(a, 8, gotable.AsmCgoCall, 0) })
	add(goCallback, func() uint16 { return b.goSet(a, 24, flagCallback) })
	add(goCross, func() uint16 { return b.goSet(a, 24, flagCrossCall) })
	add(goStandIn, func() uint16 { return b.goSet(a, 8, flagStandIn) })
	add(goFinal, func() uint16 { return b.switchSet(a, 8, 0, flagFinal) })
	add(goUnknown, func() uint16 { return b.unknown() })
	add(goC, func() uint16 {
		r := row{cfa: rule{kind: ruleValOffset, reg: m.sp, val: 16}}
		r.set(uint64(m.ra), rule{kind: ruleOffset, val: -8})
		return b.set(&r, m.ra, 0)
	})
	add(goCFramed, func() uint16 {
		r := row{cfa: rule{kind: ruleValOffset, reg: m.fp, val: 16}}
		r.set(uint64(m.ra), rule{kind: ruleOffset, val: -8})
		r.set(uint64(m.fp), rule{kind: ruleOffset, val: -16})
		return b.set(&r, m.ra, flagRecord)
	})
	return &fixedSpace{version: 1, mappings: []Mapping{{Start: goOuter, End: goEnd, Offset: goOuter, Object: 1, Table: b.finish()}}}
}

// words are memory: an address, and what lies there and behind it.
type words struct {
	from uint64
	list []uint64
}

func (w words) bytes() (b []byte) {
	for _, word := range w.list {
		b = binary.LittleEndian.AppendUint64(b, word)
	}
	return b
}

// on is an address on the system stack, by its word; in is one on the goroutine's.
func on(word int) uint64 { return systemStack + uint64(word)*8 }
func in(word int) uint64 { return goroutine + uint64(word)*8 }

// mark stands for the mark in a list of offsets.
const mark = ^uint64(0)

func marked(frames []Frame) []uint64 {
	list := offsets(frames)
	for i, f := range frames {
		if f == switchMark {
			list[i] = mark
		}
	}
	return list
}

func TestAChainGoesOnWhereGoSwitchesStacks(t *testing.T) {
	caller := []uint64{0, 0, in(9), goCaller + 9, 0, 0, goOuter + 5} // with the record of a function that it has called at 2
	for _, test := range []struct {
		name  string
		arch  Arch
		pc    uint64
		fp    uint64
		copy  words
		rest  []words // readable memory, of a thread that stands still
		chain []uint64
		want  []uint64
		end   End
	}{
		{name: "systemstack, by the kernel's chain", arch: AMD64, pc: goC, fp: in(2),
			copy:  words{on(0), []uint64{0, goSwitch + 32}},
			chain: []uint64{goC, goCaller + 9, goOuter + 5},
			want:  []uint64{goC, goSwitch + 31, goCaller + 8, goOuter + 4}, end: Complete},
		{name: "C, which has frame records of its own", arch: AMD64, pc: goCFramed, fp: on(0),
			copy:  words{on(0), []uint64{in(2), goCgo + 32}},
			chain: []uint64{goCFramed, goCgo + 32, goCaller + 9, goOuter + 5},
			want:  []uint64{goCFramed, goCgo + 31, goCaller + 8, goOuter + 4}, end: Complete},
		{name: "C that uses the frame pointer for something else", arch: AMD64, pc: goC, fp: 77,
			copy:  words{on(0), []uint64{0, goCgo + 32}},
			chain: []uint64{goC},
			want:  []uint64{goC, goCgo + 31, mark}, end: Lost},
		{name: "without the kernel's chain", arch: AMD64, pc: goC, fp: in(2),
			copy: words{on(0), []uint64{0, goCgo + 32, goOuter + 5}},
			want: []uint64{goC, goCgo + 31, mark}, end: Lost},
		{name: "by what asmcgocall keeps on the system stack", arch: AMD64, pc: goC, fp: 77,
			copy: words{on(0), []uint64{0, goCgo + 32, 100*8 - 2*8, goroutineG}},
			rest: []words{{goroutineG, []uint64{goroutine, in(100)}}, {goroutine, caller}},
			want: []uint64{goC, goCgo + 31, goCaller + 8, goOuter + 4}, end: Complete},
		{name: "a goroutine that is not there", arch: AMD64, pc: goC, fp: 77,
			copy: words{on(0), []uint64{0, goCgo + 32, 100*8 - 2*8, 0}},
			want: []uint64{goC, goCgo + 31, mark}, end: Lost},
		{name: "systemstack, by memory", arch: AMD64, pc: goC, fp: in(2),
			copy: words{on(0), []uint64{0, goSwitch + 32}},
			rest: []words{{goroutine, caller}},
			want: []uint64{goC, goSwitch + 31, goCaller + 8, goOuter + 4}, end: Complete},
		{name: "systemstack on arm64", arch: ARM64, pc: goC, fp: in(2),
			copy:  words{on(0), []uint64{0, goSwitch + 32}},
			chain: []uint64{goC, goCaller + 9, goOuter + 5},
			want:  []uint64{goC, goSwitch + 31, goCaller + 8, goOuter + 4}, end: Complete},
		{name: "asmcgocall on arm64, whose frame pointer is the system stack's", arch: ARM64, pc: goC, fp: on(7),
			copy:  words{on(0), []uint64{0, goCgo + 32, 0, 0, 0, 0, 0, 0, goOuter + 5}},
			chain: []uint64{goC, goOuter + 5},
			want:  []uint64{goC, goCgo + 31, mark}, end: Lost},
		{name: "asmcgocall on arm64, by what it keeps", arch: ARM64, pc: goC, fp: on(7),
			copy: words{on(0), []uint64{0, goCgo + 32, goroutineG, 100*8 - 3*8}},
			rest: []words{{goroutineG, []uint64{goroutine, in(100)}}, {in(2), []uint64{in(6), goCaller + 9, goOuter + 5}}},
			want: []uint64{goC, goCgo + 31, goCaller + 8, goOuter + 4}, end: Complete},
		{name: "mcall ends a stack", arch: AMD64, pc: goC, fp: 0,
			copy:  words{on(0), []uint64{0, goFinal + 32, goCaller + 9, 0, 0, goOuter + 5}},
			chain: []uint64{goC, goCaller + 9},
			want:  []uint64{goC, goFinal + 31}, end: Complete},
		{name: "mcall before it leaves has a caller", arch: AMD64, pc: goFinal + 32, fp: in(2),
			copy: words{in(2), caller[2:]},
			want: []uint64{goFinal + 32, goCaller + 8, goOuter + 4}, end: Complete},
		{name: "a Go stack is not searched for return addresses", arch: AMD64, pc: goC, fp: 0,
			copy: words{on(0), []uint64{0, goUnknown + 32, goOuter + 5, 0, goOuter + 5}},
			want: []uint64{goC, goUnknown + 31, mark}, end: Lost},
		{name: "a callback from C without frame records keeps Go's callers", arch: AMD64, pc: goCaller, fp: 77,
			// goCaller has been called by cgocallback, whose record is on the system stack.
			copy: words{in(0), []uint64{0, on(4), goCallback + 32, 0, 0, 0, goStandIn + 9, in(9), goCaller + 9, 0, 0, goOuter + 5}},
			want: []uint64{goCaller, goCallback + 31, mark, goCaller + 8, goOuter + 4}, end: Lost},
		{name: "a callback has C's functions by the kernel's chain", arch: AMD64, pc: goCaller, fp: in(1),
			copy:  words{in(0), []uint64{0, on(4), goCallback + 32, 0, 0, 0, goStandIn + 9, in(9), goCaller + 9, 0, 0, goOuter + 5}},
			chain: []uint64{goCaller, goCallback + 32, goCross + 32, on(8), goCFramed + 32, goCgo + 32, goCaller + 9, goOuter + 5},
			want:  []uint64{goCaller, goCallback + 31, goCross + 31, goCFramed + 31, goCgo + 31, goCaller + 8, goOuter + 4}, end: Complete},
		{name: "as far as they keep frame records", arch: AMD64, pc: goCaller, fp: in(1),
			copy:  words{in(0), []uint64{0, on(4), goCallback + 32, 0, 0, 0, goStandIn + 9, in(9), goCaller + 9, 0, 0, goOuter + 5}},
			chain: []uint64{goCaller, goCallback + 32, goCross + 32, on(8), goC + 32, goOuter + 5},
			want:  []uint64{goCaller, goCallback + 31, goCross + 31, goC + 31, mark, goCaller + 8, goOuter + 4}, end: Lost},
		{name: "a callback has C's functions by memory", arch: AMD64, pc: goCaller, fp: in(1),
			copy: words{in(0), []uint64{0, on(4), goCallback + 32, 0, 0, 0, goStandIn + 9, in(9), goCaller + 9, 0, 0, goOuter + 5}},
			rest: []words{
				{on(4), []uint64{77, goC + 32, 0, goCgo + 32, 100*8 - 7*8, goroutineG}},
				{goroutineG, []uint64{goroutine, in(100)}},
				{in(7), []uint64{in(9), goCaller + 9, 0, 0, goOuter + 5}},
			},
			want: []uint64{goCaller, goCallback + 31, goC + 31, goCgo + 31, goCaller + 8, goOuter + 4}, end: Complete},
		{name: "a thread of C that calls Go first", arch: AMD64, pc: goCaller, fp: in(1),
			copy:  words{in(0), []uint64{0, on(4), goCallback + 32, 0, 0, 0, goOuter + 5}},
			chain: []uint64{goCaller, goCallback + 32, goCross + 32, on(8), goC + 32},
			want:  []uint64{goCaller, goCallback + 31, goCross + 31, goC + 31, mark}, end: Lost},
		{name: "stacks that lead to each other in a circle", arch: AMD64, pc: goC, fp: in(2),
			copy: words{on(0), []uint64{0, goSwitch + 32}},
			rest: []words{{in(2), []uint64{on(1), goSwitch + 32}}, {on(1), []uint64{in(2), goSwitch + 32}}},
			want: slices.Concat([]uint64{goC}, repeatOffset(goSwitch+31, maxSwitches+1), []uint64{mark}), end: Lost},
	} {
		t.Run(test.name, func(t *testing.T) {
			c := Capture{Stack: test.copy.bytes(), Chain: test.chain}
			mask, values := uint64(1<<6|1<<7|1<<8), []uint64{test.fp, test.copy.from, test.pc}
			if test.arch == ARM64 {
				mask = 1<<29 | 1<<31 | 1<<32
			}
			if err := c.Regs.Load(test.arch, mask, values); err != nil {
				t.Fatal(err)
			}
			if test.rest != nil {
				c.Other = func(sp uint64) []byte {
					for _, w := range test.rest {
						if b := w.bytes(); sp-w.from < uint64(len(b)) {
							return b[sp-w.from:]
						}
					}
					return nil
				}
			}
			frames, end := New(test.arch).Auto(nil, goSpace(test.arch), &c)
			if got := marked(frames); !slices.Equal(got, test.want) || end != test.end {
				t.Errorf("chain %#x, %v\nwant  %#x, %v", got, end, test.want, test.end)
			}
		})
	}
}
