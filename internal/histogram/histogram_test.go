package histogram_test

import (
	"math"
	"math/big"
	"math/rand/v2"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/ringtap/ringtap/internal/histogram"
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
	for name, scale := range map[string]histogram.Scale{"powers": histogram.Log2(), "steps": steps} {
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
