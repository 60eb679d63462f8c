package callchain

import "testing"

func TestFunctionsThatOverlapOrLeaveGaps(t *testing.T) {
	b := newBuilder(AMD64, 0x1000)
	for i, f := range []struct{ lo, hi uint64 }{
		{0x1000, 0x1100},
		{0x1080, 0x1200}, // overlaps
		{0x1010, 0x1020}, // covered
		{0x1208, 0x1210}, // after a gap, not aligned
		{0x1220, 0x1230}, // after a gap just too large for padding
		{0x1300, 0x1310}, // after a gap
	} {
		r := row{cfa: rule{kind: ruleValOffset, reg: amd64.sp, val: int32(i)}}
		r.set(uint64(amd64.ra), rule{kind: ruleOffset, val: -8})
		if b.begin(f.lo, f.hi) {
			b.add(f.lo, b.set(&r, amd64.ra, 0))
		}
	}
	table := b.finish()
	for _, test := range []struct {
		offset   uint64
		function int32 // -1: none
	}{
		{0x1000, 0}, {0x1018, 0}, {0x1080, 0}, {0x10ff, 0}, {0x1100, 1}, {0x11ff, 1},
		{0x1200, -1}, {0x1207, -1}, {0x1208, 3}, {0x120f, 3}, {0x1210, -1}, {0x121f, -1},
		{0x1220, 4}, {0x122f, 4}, {0x1230, -1}, {0x12ff, -1}, {0x1300, 5}, {0x1310, -1},
	} {
		got := int32(-1)
		if set := table.find(test.offset); set != nil {
			got = set.cfa.val
		}
		if got != test.function {
			t.Errorf("offset %#x belongs to function %d, want %d", test.offset, got, test.function)
		}
	}
}

func TestPaddingBetweenFunctionsCostsNoRow(t *testing.T) {
	b := newBuilder(AMD64, 0x1000)
	set := func(cfa int32) uint16 {
		r := row{cfa: rule{kind: ruleValOffset, reg: amd64.sp, val: cfa}}
		r.set(uint64(amd64.ra), rule{kind: ruleOffset, val: -8})
		return b.set(&r, amd64.ra, 0)
	}
	for i, lo := range []uint64{0x1000, 0x1010, 0x1020} {
		b.begin(lo, lo+9)
		b.add(lo, set(int32(i+1)*8))
	}
	if n := b.finish().Rows(); n != 4 { // and the end
		t.Errorf("%d rows for three functions, want 4", n)
	}
}
