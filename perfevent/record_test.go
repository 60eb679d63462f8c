package perfevent

import "testing"

func TestRegistersHaveOneValuePerBitOfTheMask(t *testing.T) {
	r := Registers{Mask: 1<<3 | 1<<7 | 1<<22 | 1<<63, Values: []uint64{3, 7, 22, 63}}
	for _, n := range []int{3, 7, 22, 63} {
		if v, ok := r.Value(n); !ok || v != uint64(n) {
			t.Errorf("register %d is %d, %v", n, v, ok)
		}
	}
	for _, n := range []int{0, 4, 62, 64, 255} {
		if v, ok := r.Value(n); ok || v != 0 {
			t.Errorf("register %d is %d, and the mask does not have it", n, v)
		}
	}
	r.Values = r.Values[:2]
	if v, ok := r.Value(22); ok || v != 0 {
		t.Errorf("register 22 is %d, and there are two values", v)
	}
}
