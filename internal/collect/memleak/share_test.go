package memleak

import (
	"math"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/ringtap/ringtap/internal/collect/table"
)

// newShared returns an address space and the rows of four stacks.
func newShared(t *testing.T) (*holdings, *table.Rows, []table.Row) {
	t.Helper()
	m := newMemory()
	t.Cleanup(func() { _ = m.close() })
	rows, made := rowsOf(t, 4)
	return newHoldings(&leakOptions{}, m), rows, made
}

func TestWeightsAreRightOnAverage(t *testing.T) {
	for _, n := range []float64{1, 1.5, 2, 3, 17, 100.25, 65536} {
		sum := 0.
		const steps = 1 << 12
		for i := range steps {
			sum += math.Ldexp(1, int(powerOfTwo(n, (float64(i)+0.5)/steps)))
		}
		if mean := sum / steps; math.Abs(mean-n) > n/1000 {
			t.Errorf("the mean of what stands for %v is %v", n, mean)
		}
	}
}

func TestSizeClassesAreNarrowAndInOrder(t *testing.T) {
	first, last := uint64(0), uint8(0)
	for size := range uint64(1 << 20) {
		class := sizeClass(size)
		if class < last {
			t.Fatalf("%d bytes are of class %d, fewer of %d", size, class, last)
		}
		if class > last {
			first, last = size, class
		}
		if size-first > first/4 {
			t.Fatalf("%d bytes and %d are of one class", first, size)
		}
	}
}

// Two functions of one native stack leak the same, the first at a time when all allocations are read, the
// second when few are. A third frees all that it allocates.
func TestUnreadMemoryBelongsToTheFunctionsThatWereNotRead(t *testing.T) {
	h, rows, made := newShared(t)
	native, functions := made[0], made[1:]
	rng := rand.New(rand.NewPCG(1, 2))
	address := uint64(0x1000)
	var leaked [2]uint64
	for phase, share := range []float64{1, 1. / 20} {
		for range 20000 {
			function := phase
			if rng.IntN(4) > 0 {
				function = 2
			}
			by := caller{row: native, native: native}
			if rng.Float64() < share {
				by.row, by.read = functions[function], true
			}
			address += 4096
			h.add(rows, by, address, 2000, 0)
			if function == 2 {
				h.free(address)
			} else {
				leaked[function] += 2000
			}
		}
	}
	got := make(map[table.Row]uint64)
	var all uint64
	var reading Reading
	for _, s := range reading.share(h.sites) {
		if s.used > 0 {
			got[s.row] += s.bytes
			all += s.bytes
		}
	}
	if all != leaked[0]+leaked[1] || got[native] != 0 || got[functions[2]] != 0 {
		t.Errorf("%d bytes, want %d; %d without a function, %d by one that frees", all, leaked[0]+leaked[1], got[native], got[functions[2]])
	}
	for i, want := range leaked {
		if n := got[functions[i]]; math.Abs(float64(n)-float64(want)) > 0.1*float64(want) {
			t.Errorf("function %d: %d bytes, want %d", i, n, want)
		}
	}
	if reading.Read+reading.Shared != all || reading.Read < leaked[0] || reading.None != 0 {
		t.Errorf("%+v", reading)
	}
}

// An allocation of 0 bytes weighs nothing, but counts.
func TestAllocationsOfNoBytesAreCountedOnce(t *testing.T) {
	h, rows, made := newShared(t)
	native, function := made[0], made[1]
	for i := range uint64(30) {
		by := caller{row: native, native: native}
		if i%3 == 2 {
			by.row, by.read = function, true
		}
		h.add(rows, by, 0x1000+16*i, 0, 0)
	}
	counts := make(map[table.Row]uint64)
	var reading Reading
	for _, s := range reading.share(h.sites) {
		if s.used > 0 {
			counts[s.row] += s.counts
		}
	}
	if len(counts) != 1 || counts[function] != 30*countScale {
		t.Errorf("allocations by row: %v, want %d of %v", counts, 30*countScale, function)
	}
	if reading != (Reading{}) {
		t.Errorf("%+v", reading)
	}
}

func TestWhatWasNeverReadKeepsItsNativeStack(t *testing.T) {
	h, rows, made := newShared(t)
	native, function := made[0], made[1]
	h.add(rows, caller{row: native, native: native}, 0x1000, 100, 0)
	h.add(rows, caller{row: function, native: native, read: true}, 0x2000, 5000, 0) // of another size
	var reading Reading
	for _, s := range reading.share(h.sites) {
		if want := map[table.Row]uint64{native: 100, function: 5000}[s.row]; s.bytes != want {
			t.Errorf("%d bytes stand, want %d", s.bytes, want)
		}
	}
	if reading != (Reading{Read: 5000, None: 100}) {
		t.Errorf("%+v", reading)
	}
}

func TestTheNoteOfReadingsFitsALine(t *testing.T) {
	var b strings.Builder
	(&Reading{Read: 503, Shared: 484, None: 13, squares: 484}).say(&b)
	const want = "memleak: interpreted functions: 50.3% of bytes read, 48.4% estimated, 1.3% none\n" +
		"memleak: an estimate is off by less than 2.2% of bytes (95% confidence)\n"
	if b.String() != want {
		t.Errorf("%q, want %q", b.String(), want)
	}
	for line := range strings.Lines(want) {
		if len(line) > 80 {
			t.Errorf("%q is %d bytes long", line, len(line))
		}
	}
}

// Two functions allocate the same. Few of their allocations are read, at first more than later.
func TestEstimatesVaryAsTheStandardErrorSays(t *testing.T) {
	h, rows, made := newShared(t)
	native, functions := made[0], made[1:3]
	rng := rand.New(rand.NewPCG(1, 2))
	const times, calls, size = 400, 4000, 2000
	var variance, claimed float64
	for range times {
		for i := range calls {
			by := caller{row: native, native: native}
			if share := []float64{0.5, 0.02}[i*2/calls]; rng.Float64() < share {
				by.row, by.read = functions[rng.IntN(2)], true
			}
			h.add(rows, by, uint64(i+1)<<12, size, 0)
		}
		var reading Reading
		var first uint64 // bytes of the first function
		for _, s := range reading.share(h.sites) {
			if s.used > 0 && s.row == functions[0] {
				first += s.bytes
			}
		}
		variance += math.Pow(float64(first)-calls*size/2, 2) / times
		claimed += math.Pow(reading.StandardError(), 2) / times
		for i := range calls {
			h.free(uint64(i+1) << 12)
		}
	}
	t.Logf("standard error %.0f, claimed %.0f", math.Sqrt(variance), math.Sqrt(claimed))
	if ratio := variance / claimed; ratio < 0.7 || ratio > 1.4 {
		t.Errorf("the estimates vary %.2f times as much as StandardError says", ratio)
	}
}

func TestStrataAreForgottenWithTheirSites(t *testing.T) {
	h, rows, made := newShared(t)
	native, empty := made[0], h.memory.bytes
	h.add(rows, caller{row: native, native: native}, 0x1000, 100, 0)
	h.add(rows, caller{row: native, native: native}, 0x2000, 5000, 0)
	h.free(0x1000)
	h.tidy(rows)
	if len(h.strata) != 1 || h.strata[stratum{native, sizeClass(5000)}] == nil {
		t.Errorf("%d strata are left", len(h.strata))
	}
	h.free(0x2000)
	h.tidy(rows)
	if kept := empty + fewSlots*slotBytes + len(h.sites)*siteBytes; len(h.strata) != 0 || h.memory.bytes != kept {
		t.Errorf("%d strata are left, %d bytes, want %d", len(h.strata), h.memory.bytes, kept)
	}
}
