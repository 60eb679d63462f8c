package syscalls

import (
	"encoding/binary"
	"slices"
	"testing"
)

func TestCallsOf32BitProgramsAreNamedByTheirOwnNumbers(t *testing.T) {
	short := binary.NativeEndian.AppendUint32(binary.NativeEndian.AppendUint32(nil, 1), 500_000_000)
	thread := &Thread{Compat: true, Memory: memory{0x1000: short, 0x2000: words(2, 0)}.read}
	for _, test := range []struct {
		name string
		args [6]uint64
		want string
	}{
		{"clock_nanosleep", [6]uint64{0, 0, 0x1000}, "clock_nanosleep(1.5s)"},
		{"clock_nanosleep_time64", [6]uint64{0, 0, 0x2000}, "clock_nanosleep_time64(2s)"},
		{"read", [6]uint64{3, 0x1000, 1}, "read(3, 1 byte)"},
		{"pread64", [6]uint64{3, 0x1000, 1}, "pread64(0x3, 0x1000, 0x1)"}, // the offset takes two arguments
	} {
		number := slices.Index(compatNames[:], test.name)
		if number < 0 {
			t.Errorf("there is no %s", test.name)
			continue
		}
		if got := Describe(thread, number, test.args); got != test.want {
			t.Errorf("%s", got)
		}
	}
}
