package live

import (
	"fmt"
	"testing"
)

func TestAReturnHasTheRecordOfItsOwnEntry(t *testing.T) {
	c := calls{}
	left := func(tid uint32) string { return string(c.leave(tid)) }
	for i := range 3 { // a function that calls itself
		c.enter(1, []byte{'a' + byte(i)})
		c.enter(2, []byte{'x' + byte(i)})
	}
	if got := left(1) + left(2) + left(1) + left(1) + left(2) + left(2); got != "czbayx" {
		t.Errorf("%s", got)
	}
	if got := left(1); got != "" || len(c) != 0 {
		t.Errorf("a return without an entry has %q, %d threads are left", got, len(c))
	}
}

func TestCallsThatNeverReturnAreForgotten(t *testing.T) {
	c := calls{}
	for i := range maxNested + 10 {
		c.enter(1, fmt.Append(nil, i))
	}
	if n, last := len(c[1]), string(c.leave(1)); n != maxNested || last != fmt.Sprint(maxNested+9) {
		t.Errorf("%d are kept, the last is %s", n, last)
	}
	for tid := range uint32(maxThreads + 10) {
		c.enter(tid, nil)
	}
	if len(c) > maxThreads {
		t.Errorf("of %d threads", len(c))
	}
}
