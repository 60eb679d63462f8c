package follow

import (
	"testing"

	"github.com/ringtap/ringtap/internal/profile"
)

func TestAFrameIsItsFunctionAndItsFile(t *testing.T) {
	objects := []profile.Object{
		{Path: "[kernel]", Kernel: true},
		{Path: "/usr/bin/bash"},
		{Path: "/tmp/\x1b[31m"},
		{Path: "[ext4]", Kernel: true},
	}
	for _, test := range []struct {
		frame profile.Frame
		want  string
	}{
		{profile.Frame{Object: 0, Name: "schedule", Offset: 0x22}, " => schedule+0x22\n"},
		{profile.Frame{Object: 1, Name: "readline", Offset: 7}, " => readline+0x7 (/usr/bin/bash)\n"},
		{profile.Frame{Object: 1, Address: 0x1234}, " => 0x1234 (/usr/bin/bash)\n"},
		{profile.Frame{Object: 2, Name: "evil\n", Offset: 0}, ` => evil\n+0x0 (/tmp/\x1b[31m)` + "\n"},
		{profile.Frame{Object: 3, Name: "ext4_sync", Offset: 1}, " => ext4_sync+0x1 ([ext4])\n"},
	} {
		if got := string(appendFrame(nil, &test.frame, objects)); got != test.want {
			t.Errorf("%+v is %q, want %q", test.frame, got, test.want)
		}
	}
}
