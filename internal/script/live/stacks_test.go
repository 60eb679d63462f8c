package live

import (
	"testing"

	"github.com/ringtap/ringtap/internal/moment"
	"github.com/ringtap/ringtap/internal/profile"
)

func TestAFrameIsALineOfItsMode(t *testing.T) {
	kernel := profile.Object{Path: "[kernel]", Kernel: true}
	file := profile.Object{Path: "/usr/bin/bash", BuildID: "c0ffee"}
	runtime := profile.Object{Path: "[HotSpot 17]", Runtime: "HotSpot 17"}
	for _, test := range []struct {
		frame                      profile.Frame
		object                     profile.Object
		bpftrace, perf, raw, build string
	}{
		{profile.Frame{Name: "schedule", Address: 0x1f, Return: true, Offset: 32}, kernel,
			"schedule+32", "              20 schedule+32 ([kernel.kallsyms])", "20", " 0x20"},
		{profile.Frame{Name: "readline", Address: 0x1234, Offset: 7}, file,
			"readline+7", "            1234 readline+7 (/usr/bin/bash)", "1234", "c0ffee 0x1234"},
		{profile.Frame{Address: 0x1234}, file,
			"0x1234", "            1234 0x1234 (/usr/bin/bash)", "1234", "c0ffee 0x1234"},
		{profile.Frame{Name: "Main.run()", Address: 5, Offset: 5, Lines: []profile.Line{{File: "Main.java", Line: 7}}}, runtime,
			"Main.run() (Main.java:7)", "               5 Main.run() (Main.java:7)", "5", " 0x5"},
		{profile.Frame{Name: "StubRoutines", Address: 9, Offset: 9}, runtime,
			"StubRoutines+9", "               9 StubRoutines+9 ([HotSpot 17])", "9", " 0x9"},
		{profile.Frame{Name: moment.Late}, profile.Object{Path: "[labels]", Labels: true}, moment.Late, moment.Late, moment.Late, moment.Late},
	} {
		for mode, want := range map[string]string{"bpftrace": test.bpftrace, "perf": test.perf, "raw": test.raw, "build_id": test.build} {
			if got := line(&test.frame, &test.object, mode); got != want {
				t.Errorf("%+v is %q in mode %s, want %q", test.frame, got, mode, want)
			}
		}
	}
}
