package live

import (
	"fmt"
	"strings"
	"testing"

	"github.com/ringtap/ringtap/internal/script/eval"
)

func TestATextIsFoundByItsAddressInItsProcess(t *testing.T) {
	var a Attachment
	a.carried.keep(address{7, 0x1000}, "first")
	a.carried.keep(address{7, 0x1000}, "second")
	a.carried.keep(address{8, 0x1000}, "other")
	for _, test := range []struct {
		pid  uint32
		addr uint64
		want string
	}{{7, 0x1000, "second"}, {8, 0x1000, "other"}, {9, 0x1000, ""}, {7, 0x1001, ""}} {
		if text, ok := a.Text(&eval.Hit{PID: test.pid}, test.addr); text != test.want || ok != (test.want != "") {
			t.Errorf("%d, %#x: %q, %v, want %q", test.pid, test.addr, text, ok, test.want)
		}
	}
}

func TestTheOlderHalfOfTheTextsGoesWhenThereAreTooMany(t *testing.T) {
	var c carried
	long := strings.Repeat("x", 1<<20)
	for i := range uint64(40) {
		c.keep(address{1, i}, fmt.Sprint(i, long))
	}
	for i := range uint64(40) {
		// 16 texts of a little more than 1 MiB fill a half.
		if _, ok := c.find(address{1, i}); ok != (i >= 16) {
			t.Errorf("text %d: found %v", i, ok)
		}
	}
}
