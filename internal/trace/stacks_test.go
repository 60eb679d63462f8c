package trace

import (
	"testing"

	"github.com/ringtap/ringtap/internal/process"
	"github.com/ringtap/ringtap/internal/profile"
	"github.com/ringtap/ringtap/internal/readmem/atsample"
	"github.com/ringtap/ringtap/internal/stack"
	"github.com/ringtap/ringtap/internal/stack/symbolize"
	"github.com/ringtap/ringtap/internal/testkit/tabletest"
)

func TestAFrameIsItsFunctionAndItsFile(t *testing.T) {
	objects := []profile.Object{
		{Path: "[kernel]", Kernel: true},
		{Path: "/usr/bin/bash"},
		{Path: "/tmp/\x1b[31m"},
		{Path: "[ext4]", Kernel: true},
		{Path: "[HotSpot 17]", Runtime: "HotSpot 17"},
		{Path: "[labels]", Labels: true},
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
		{profile.Frame{Object: 4, Name: "Main.run()\x1b", Lines: []profile.Line{{File: "Main\n.java", Line: 7}}}, ` => Main.run()\x1b (Main\n.java:7)` + "\n"},
		{profile.Frame{Object: 4, Name: "StubRoutines", Offset: 9}, " => StubRoutines+0x9 ([HotSpot 17])\n"},
		{profile.Frame{Object: 5, Name: atsample.Late}, " => [interpreted functions read late]\n"},
	} {
		if got := string(appendFrame(nil, &test.frame, objects)); got != test.want {
			t.Errorf("%+v is %q, want %q", test.frame, got, test.want)
		}
	}
}

func TestAKernelStackFollowsItsLine(t *testing.T) {
	host := process.Host{Proc: t.TempDir()} // it has no symbols
	processes := process.NewTable(process.Options{Host: host})
	defer processes.Close()
	symbolizer := symbolize.New(symbolize.Options{Host: host})
	defer symbolizer.Close()
	s := newStacks(stack.Lines(false, true), processes, symbolizer)
	sample := tabletest.Hit(5, 1, 0xffffffff81000010, 0xffffffff81000021)
	const want = "line\nhead <stack trace>\n => 0xffffffff81000010\n => 0xffffffff81000021\n"
	for range 2 {
		if got := string(s.append([]byte("line\n"), []byte("head "), sample)); got != want {
			t.Errorf("%q, want %q", got, want)
		}
		s.size = maxTexts + 1 // the next one finds its memory used up, and begins anew
	}
	if s.append(nil, nil, sample); s.size > maxTexts || len(s.texts) != 1 {
		t.Errorf("%d texts of %d bytes are kept", len(s.texts), s.size)
	}
}
