package live

import (
	"fmt"
	"strings"
	"testing"

	"github.com/ringtap/ringtap/perfevent"
)

func TestMemoryIsFoundByItsAddressInItsProcess(t *testing.T) {
	const kernel = 0xffff888000001000
	var c argCache
	c.keep(7, 0x1000, memory{data: "first"})
	c.keep(7, 0x1000, memory{data: "second"})
	c.keep(8, 0x1000, memory{data: "other"})
	c.keep(8, kernel, memory{data: "of all"})
	c.keep(8, 0x2000, memory{data: "dropped"})
	c.drop(8, 0x2000)
	for _, test := range []struct {
		pid  uint32
		addr uint64
		want string
	}{{7, 0x1000, "second"}, {8, 0x1000, "other"}, {9, 0x1000, ""}, {7, 0x1001, ""}, {7, kernel, "of all"}, {8, 0x2000, ""}} {
		if m, ok := c.find(test.pid, test.addr); m.data != test.want || ok != (test.want != "") {
			t.Errorf("%d, %#x: %q, %v, want %q", test.pid, test.addr, m.data, ok, test.want)
		}
	}
}

func TestTheOlderHalfOfTheMemoryGoesWhenThereIsTooMuch(t *testing.T) {
	var c argCache
	long := strings.Repeat("x", 1<<20)
	for i := range uint64(40) {
		c.keep(1, i, memory{data: fmt.Sprint(i, long)})
	}
	for i := range uint64(40) {
		// 16 texts of a little more than 1 MiB fill a half.
		if _, ok := c.find(1, i); ok != (i >= 16) {
			t.Errorf("text %d: found %v", i, ok)
		}
	}
}

func TestMemoryIsForgottenWhenItsProgramEnds(t *testing.T) {
	for _, test := range []struct {
		record perfevent.Record
		kept   bool
	}{
		{&perfevent.Comm{PID: 7, TID: 7, Exec: true}, false},
		{&perfevent.Comm{PID: 7, TID: 7}, true},
		{&perfevent.Comm{PID: 8, TID: 8, Exec: true}, true},
		{&perfevent.Exit{PID: 7, TID: 7}, false},
		{&perfevent.Exit{PID: 7, TID: 9}, true},
	} {
		var c argCache
		c.keep(7, 0x1000, memory{data: "text"})
		c.handle(test.record)
		if _, ok := c.find(7, 0x1000); ok != test.kept {
			t.Errorf("after %+v: kept %v", test.record, ok)
		}
		c.keep(7, 0x1000, memory{data: "new"})
		if m, ok := c.find(7, 0x1000); !ok || m.data != "new" {
			t.Errorf("after %+v: %q", test.record, m.data)
		}
	}
}
