package perfevent

import (
	"errors"
	"testing"
)

func TestLiveDynamicReadsThisKernelsPMUs(t *testing.T) {
	e, err := Dynamic("msr", "tsc")
	if errors.Is(err, ErrNoEvent) {
		t.Skip("no msr PMU")
	}
	if err != nil {
		t.Fatal(err)
	}
	if e.attr.Type < 6 {
		t.Errorf("the msr PMU has type %d, one of the fixed types", e.attr.Type)
	}
}
