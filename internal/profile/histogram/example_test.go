package histogram_test

import (
	"fmt"

	"github.com/ringtap/ringtap/internal/profile/histogram"
)

func Example() {
	h := histogram.New(histogram.Log2())
	for _, v := range []int64{0, 1, 1500, 1600, 3000} {
		h.Add(v)
	}
	fmt.Printf("%s%d values, %d in all\n", h.Append(nil), h.Count(), h.Total())
	// Output:
	// [0]                    1 |@@@@@@@@@@@@@@@@@@@@@@@@@@                          |
	// [1]                    1 |@@@@@@@@@@@@@@@@@@@@@@@@@@                          |
	// [2, 4)                 0 |                                                    |
	// [4, 8)                 0 |                                                    |
	// [8, 16)                0 |                                                    |
	// [16, 32)               0 |                                                    |
	// [32, 64)               0 |                                                    |
	// [64, 128)              0 |                                                    |
	// [128, 256)             0 |                                                    |
	// [256, 512)             0 |                                                    |
	// [512, 1K)              0 |                                                    |
	// [1K, 2K)               2 |@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@|
	// [2K, 4K)               1 |@@@@@@@@@@@@@@@@@@@@@@@@@@                          |
	// 5 values, 6101 in all
}
