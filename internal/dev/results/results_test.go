package results

import (
	"strings"
	"testing"
)

func TestOutputThatIsNotOfGoTestIsAnError(t *testing.T) {
	if err := New(&strings.Builder{}).Read(strings.NewReader("{\"Action\":\"run\"}\nno json")); err == nil {
		t.Error("read = nil; want an error")
	}
}

func TestTheReasonOfASkipIsWhatWasSaidLast(t *testing.T) {
	for name, test := range map[string]struct {
		output []string
		want   string
	}{
		"a test":   {[]string{"    a_test.go:7: ready\n", "    a_test.go:9: no kprobes\n", "--- SKIP: TestLiveA (0.05s)\n"}, "no kprobes"},
		"a script": {[]string{"    cmd.go:380: script is not installed\n", "    testscript.go:609: WORK=$WORK\n", "        > [!exec:script] skip\n"}, "script is not installed"},
		"silence":  {[]string{"--- SKIP: TestLiveA (0.05s)\n"}, "no reason given"},
	} {
		if got := SkipReason(test.output); got != test.want {
			t.Errorf("%s: SkipReason = %q; want %q", name, got, test.want)
		}
	}
}
