package live

import (
	"slices"
	"testing"

	"github.com/ringtap/ringtap/internal/profile"
	"github.com/ringtap/ringtap/internal/readmem/atsample"
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
			"schedule+32", "20 schedule+32", "20", " 0x20"},
		{profile.Frame{Name: "readline", Address: 0x1234, Offset: 7}, file,
			"readline+7", "1234 readline+7 (/usr/bin/bash)", "1234", "c0ffee 0x1234"},
		{profile.Frame{Address: 0x1234}, file,
			"0x1234", "1234 0x1234 (/usr/bin/bash)", "1234", "c0ffee 0x1234"},
		{profile.Frame{Name: "outer", Address: 0x1234, Offset: 7, Lines: []profile.Line{{File: "/src/a.c", Line: 3}, {File: "/src/a.c", Line: 12}}}, file,
			"outer+7@/src/a.c:12", "1234 outer+7 (/usr/bin/bash)", "1234", "c0ffee 0x1234"},
		{profile.Frame{Name: "Main.run()", Address: 5, Offset: 5, Lines: []profile.Line{{File: "Main.java", Line: 7}}}, runtime,
			"Main.run() (Main.java:7)", "5 Main.run() (Main.java:7)", "5", " 0x5"},
		{profile.Frame{Name: "StubRoutines", Address: 9, Offset: 9}, runtime,
			"StubRoutines+9", "9 StubRoutines+9 ([HotSpot 17])", "9", " 0x9"},
		{profile.Frame{Name: atsample.Late}, profile.Object{Path: "[labels]", Labels: true}, atsample.Late, atsample.Late, atsample.Late, atsample.Late},
	} {
		for mode, want := range map[string]string{"bpftrace": test.bpftrace, "perf": test.perf, "raw": test.raw, "build_id": test.build} {
			if got := line(&test.frame, &test.object, mode); got != want {
				t.Errorf("%+v is %q in mode %s, want %q", test.frame, got, mode, want)
			}
		}
	}
}

func TestInlinedCallsAreLinesOfTheirOwn(t *testing.T) {
	f := profile.Frame{Name: "outer", Address: 0x1233, Return: true, Offset: 7, Lines: []profile.Line{
		{Function: "inner", File: "/src/a.c", Line: 3}, {Function: "middle"}, {Function: "outer", File: "/src/a.c", Line: 12},
	}}
	for mode, want := range map[string][]string{
		"bpftrace": {"[inlined] inner@/src/a.c:3", "[inlined] middle"},
		"perf":     {"1234 inner (inlined)", "1234 middle (inlined)"},
		"raw":      nil,
		"build_id": nil,
	} {
		if got := appendInlined(nil, &f, mode); !slices.Equal(got, want) {
			t.Errorf("in mode %s they are %q, want %q", mode, got, want)
		}
	}
	if got := appendInlined(nil, &profile.Frame{Name: "outer"}, "bpftrace"); got != nil {
		t.Errorf("a frame whose lines are not known has inlined calls %q", got)
	}
}
