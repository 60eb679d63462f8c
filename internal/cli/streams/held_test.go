package streams

import (
	"bytes"
	"fmt"
	"testing"
)

func TestWhatIsHeldBackComesWholeAndIsBounded(t *testing.T) {
	var to bytes.Buffer
	h := Held{To: &to, Limit: 10}
	fmt.Fprint(&h, "one\n")
	fmt.Fprint(&h, "two\n")
	if to.Len() > 0 {
		t.Errorf("%q is written within the limit", &to)
	}
	fmt.Fprint(&h, "three\n")
	fmt.Fprint(&h, "4\n")
	if want := "one\ntwo\nthree\n4\n"; to.String() != want {
		t.Errorf("past the limit %q is written, want %q", &to, want)
	}
	if err := h.Release(); err != nil || to.String() != "one\ntwo\nthree\n4\n" {
		t.Errorf("at the end %q and %v", &to, err)
	}
}
