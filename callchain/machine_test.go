package callchain

import (
	"encoding/binary"
	"testing"
)

// toy is a machine state that tests build word by word: an object with a few
// functions at addresses that are their file offsets too, and a stack.
type toy struct {
	space fixedSpace
	c     Capture
}

// Functions of the toy's first object, 0x100 bytes each.
const (
	toyFramed = 0x1000 // CFA = rbp+16, a frame record is set up
	toyEntry  = 0x1100 // CFA = rsp+8
	toyLarge  = 0x1200 // CFA = rsp+64, rbp saved at CFA-16
	toyStart  = 0x1300 // outermost
	toySignal = 0x1400 // signal frame: CFA = rsp, pc at CFA+8, rsp at CFA+16
	toyDeref  = 0x1500 // CFA = the word at rsp+16
	toyBare   = 0x2000 // code without a table
	toyStack  = 0x7ffc0000
)

func newToy(t *testing.T, pc, fp uint64, stack ...uint64) *toy {
	t.Helper()
	b := newMaker(AMD64)
	add := func(start uint64, flags setFlags, cfaReg uint8, cfa int32, rules map[uint8]int32) {
		r := row{cfa: rule{kind: ruleValOffset, reg: cfaReg, val: cfa}}
		for column, offset := range rules {
			r.set(uint64(column), rule{kind: ruleOffset, val: offset})
		}
		if len(rules) == 0 {
			r.set(uint64(amd64.ra), rule{kind: ruleUndefined})
		}
		b.begin(start, start+0x100)
		b.add(start, b.set(&r, amd64.ra, flags))
	}
	add(toyFramed, flagRecord, amd64.fp, 16, map[uint8]int32{amd64.ra: -8, amd64.fp: -16})
	add(toyEntry, 0, amd64.sp, 8, map[uint8]int32{amd64.ra: -8})
	add(toyLarge, 0, amd64.sp, 64, map[uint8]int32{amd64.ra: -8, amd64.fp: -16})
	add(toyStart, 0, amd64.sp, 8, nil)
	add(toySignal, flagSignal, amd64.sp, 0, map[uint8]int32{amd64.ra: 8, amd64.sp: 16})
	b.begin(toyDeref, toyDeref+0x100)
	r := row{cfa: b.exprs.add(ruleValExpr, []byte{opBreg0 + 7, 16, opDeref})}
	r.set(uint64(amd64.ra), rule{kind: ruleOffset, val: -8})
	b.add(toyDeref, b.set(&r, amd64.ra, 0))
	toy := &toy{space: fixedSpace{version: 1, mappings: []Mapping{
		{Start: 0x1000, End: 0x1600, Offset: 0x1000, Object: 1, Table: b.finish()},
		{Start: toyBare, End: toyBare + 0x100, Offset: toyBare, Object: 2},
	}}}
	for _, word := range stack {
		toy.c.Stack = binary.LittleEndian.AppendUint64(toy.c.Stack, word)
	}
	if err := toy.c.Regs.Load(AMD64, 1<<6|1<<7|1<<8, []uint64{fp, toyStack, pc}); err != nil {
		t.Fatal(err)
	}
	return toy
}

// at is the address of a word of the toy's stack.
func at(word int) uint64 { return toyStack + uint64(word)*8 }

// offsets gives what tests compare: the chain by its offsets alone.
func offsets(frames []Frame) (list []uint64) {
	for _, f := range frames {
		list = append(list, f.Offset)
	}
	return list
}
