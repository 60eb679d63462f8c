package histogram_test

import (
	"math"
	"math/big"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/ringtap/ringtap/internal/profile/histogram"
)

func TestABucketHoldsItsLowerBoundAndNotItsUpper(t *testing.T) {
	steps, err := histogram.Linear(-10, 25, 10)
	if err != nil {
		t.Fatal(err)
	}
	for _, test := range []struct {
		name   string
		scale  histogram.Scale
		value  int64
		bucket histogram.Bucket
	}{
		{"below zero", histogram.Log2(), -1, histogram.Bucket{Low: math.MinInt64, High: 0, Count: 1}},
		{"the least", histogram.Log2(), math.MinInt64, histogram.Bucket{Low: math.MinInt64, High: 0, Count: 1}},
		{"zero", histogram.Log2(), 0, histogram.Bucket{Low: 0, High: 1, Count: 1}},
		{"one", histogram.Log2(), 1, histogram.Bucket{Low: 1, High: 2, Count: 1}},
		{"one less than a power", histogram.Log2(), 4095, histogram.Bucket{Low: 2048, High: 4096, Count: 1}},
		{"a power", histogram.Log2(), 4096, histogram.Bucket{Low: 4096, High: 8192, Count: 1}},
		{"the greatest", histogram.Log2(), math.MaxInt64, histogram.Bucket{Low: 1 << 62, High: math.MaxInt64, Count: 1}},
		{"below the steps", steps, -11, histogram.Bucket{Low: math.MinInt64, High: -10, Count: 1}},
		{"the first step", steps, -10, histogram.Bucket{Low: -10, High: 0, Count: 1}},
		{"the end of a step", steps, -1, histogram.Bucket{Low: -10, High: 0, Count: 1}},
		{"the last step is cut", steps, 24, histogram.Bucket{Low: 20, High: 25, Count: 1}},
		{"above the steps", steps, 25, histogram.Bucket{Low: 25, High: math.MaxInt64, Count: 1}},
	} {
		t.Run(test.name, func(t *testing.T) {
			h := histogram.New(test.scale)
			h.Add(test.value)
			if diff := cmp.Diff([]histogram.Bucket{test.bucket}, h.Buckets()); diff != "" {
				t.Errorf("buckets of %d (-want +got):\n%s", test.value, diff)
			}
		})
	}
}

func TestBucketsTouchAndHoldEverything(t *testing.T) {
	steps, err := histogram.Linear(0, 1000, 7)
	if err != nil {
		t.Fatal(err)
	}
	for name, scale := range map[string]histogram.Scale{
		"powers": histogram.Log2(), "split powers": histogram.Log2Split(5), "steps": steps, "steps up to a whole one": histogram.Steps(-10, 7, 3),
	} {
		t.Run(name, func(t *testing.T) {
			h := histogram.New(scale)
			h.Add(math.MinInt64)
			h.Add(math.MaxInt64)
			random := rand.New(rand.NewPCG(1, 2))
			for range 1000 {
				h.Add(int64(random.Uint64()) >> random.IntN(64))
			}
			low, count := int64(math.MinInt64), uint64(0)
			for _, b := range h.Buckets() {
				if b.Low != low {
					t.Errorf("a bucket begins with %d, and the one before ends with %d", b.Low, low)
				}
				low = b.High
				count += b.Count
			}
			if low != math.MaxInt64 || count != 1002 || h.Count() != 1002 {
				t.Errorf("%d values up to %d, and Count is %d; want 1002", count, low, h.Count())
			}
		})
	}
}

func TestIndexesRiseWithTheirNumbers(t *testing.T) {
	for split := range 6 {
		scale, last := histogram.Log2Split(split), 0
		for n := int64(0); n < 1<<20; n++ {
			i := scale.Index(n)
			if i != last && i != last+1 && n > 0 {
				t.Fatalf("powers in 2^%d: %d is in bucket %d, after %d", split, n, i, last)
			}
			last = i
		}
		if below, zero := scale.Index(-1), scale.Index(0); below != 0 || zero != 1 {
			t.Errorf("powers in 2^%d: -1 is in bucket %d, 0 in %d", split, below, zero)
		}
	}
	if i := histogram.Log2().Index(math.MaxInt64); i != 64 {
		t.Errorf("the greatest number is in bucket %d", i)
	}
	for n, want := range map[int64]int{-1: 0, 0: 1, 9: 1, 10: 2, 99: 10, 100: 11, 1 << 40: 11} {
		if got := histogram.Steps(0, 10, 10).Index(n); got != want {
			t.Errorf("%d is in bucket %d of steps, want %d", n, got, want)
		}
	}
	if below, above := histogram.Steps(0, 20, 0).Index(-1), histogram.Steps(0, 20, 0).Index(0); below != 0 || above != 1 {
		t.Errorf("without steps: -1 is in bucket %d, 0 in %d", below, above)
	}
}

// The units depend on the power and not on the number: bpftrace 0.26, hist_index_label.
func TestLabelsAreBpftraces(t *testing.T) {
	for _, test := range []struct {
		scale histogram.Scale
		value int64
		want  string
	}{
		{histogram.Log2(), 1 << 62, "[4E, 8E)"},
		{histogram.Log2Split(1), 1500, "[1024, 1536)"},
		{histogram.Log2Split(1), 4, "[4, 6)"},
		{histogram.Log2Split(3), 1024, "[1024, 1152)"},
		{histogram.Log2Split(4), math.MaxInt64, "[7936P, 8192P)"},
		{histogram.Steps(0, 1024, 4), 1024, "[1024, 2048)"},
		{histogram.Steps(0, 1, 4), 4, "[4, ...)"},
	} {
		h := histogram.New(test.scale)
		h.Add(test.value)
		if got := test.scale.Label(h.Buckets()[0]); got != test.want {
			t.Errorf("%d is in %s, want %s", test.value, got, test.want)
		}
	}
}

func TestATotalIsExactBeyond64Bits(t *testing.T) {
	h, other := histogram.New(histogram.Log2()), histogram.New(histogram.Log2())
	want := new(big.Int)
	random := rand.New(rand.NewPCG(3, 4))
	for range 1000 {
		v := int64(random.Uint64())
		if v%3 == 0 {
			v = math.MinInt64 + v>>1&0xffff
		}
		into := h
		if v%2 == 0 {
			into = other
		}
		into.Add(v)
		want.Add(want, big.NewInt(v))
	}
	h.Merge(other)
	if h.Total().Cmp(want) != 0 {
		t.Errorf("total %d, want %d", h.Total(), want)
	}
	if mean := new(big.Int).Quo(want, big.NewInt(1000)); h.Mean().Cmp(mean) != 0 {
		t.Errorf("mean %d, want %d", h.Mean(), mean)
	}
}

// bpftrace divides in 32 bits: 15/26 of 52 characters is 30 there, and 29.999… in 64 bits. Its
// columns are 16 and 8 characters wide, without a space between them.
func TestLinesAreBpftraces(t *testing.T) {
	for _, test := range []struct {
		times       uint64
		less, fully string
	}{
		{1, "[1]                   15", "[2, 4)                26"},
		{1_000_000, "[1]             15000000", "[2, 4)          26000000"},
	} {
		h := histogram.New(histogram.Log2())
		h.AddMany(1, 15*test.times, 15)
		h.AddMany(2, 26*test.times, 52)
		want := test.less + " |" + strings.Repeat("@", 30) + strings.Repeat(" ", 22) + "|\n" +
			test.fully + " |" + strings.Repeat("@", 52) + "|\n"
		if diff := cmp.Diff(want, string(h.Append(nil))); diff != "" {
			t.Errorf("want -, got +\n%s", diff)
		}
	}
}

func TestAScaleThatIsNoneIsRefused(t *testing.T) {
	for _, text := range []string{"", "1,2", "1,2,3,4", "a,2,1", "0,10,0", "0,10,-1", "10,10,1", "10,0,1", "0,1000000,1", "-9223372036854775808,9223372036854775807,1"} {
		if _, err := histogram.ParseLinear(text); err == nil {
			t.Errorf("%q is taken", text)
		}
	}
	for _, text := range []string{"0,10,1", " -5, 5 ,1", "0x10,0x20,2", "0,10,100", "-9223372036854775808,9223372036854775807,0x10000000000000"} {
		if _, err := histogram.ParseLinear(text); err != nil {
			t.Errorf("%q: %v", text, err)
		}
	}
}

func FuzzLinear(f *testing.F) {
	f.Add(int64(0), int64(100), int64(7), int64(99))
	f.Add(int64(math.MinInt64), int64(math.MaxInt64), int64(1)<<52, int64(-1))
	f.Fuzz(func(t *testing.T, min, max, step, v int64) {
		scale, err := histogram.Linear(min, max, step)
		if err != nil {
			return
		}
		h := histogram.New(scale)
		h.Add(v)
		buckets := h.Buckets()
		if len(buckets) != 1 || v < buckets[0].Low || v >= buckets[0].High && buckets[0].High != math.MaxInt64 {
			t.Errorf("%d is in %+v", v, buckets)
		}
	})
}
