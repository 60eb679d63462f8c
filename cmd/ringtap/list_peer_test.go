package main

import (
	"bytes"
	"os"
	"strings"
	"testing"

	"github.com/ringtap/ringtap/internal/testkit/perfrecord"
)

// A recording's samples are as many as perf counts, and the host is this one.
func TestPeerListOfARecordingCountsWhatPerfCounts(t *testing.T) {
	path := perfrecord.Record(t, perfrecord.Mode{Args: "-e cpu-clock,sched:sched_switch -a"}, "sleep", "0.5")
	stats := perfrecord.Run(t, "report", "--stats", "-i", path)
	want := make(map[string]string) // by event
	event := ""
	for line := range strings.Lines(stats) {
		words := strings.Fields(line)
		switch {
		case len(words) == 2 && words[1] == "stats:" && words[0] != "Aggregated":
			event = words[0]
		case len(words) >= 3 && words[0] == "SAMPLE" && event != "":
			want[event] = words[2]
		}
	}
	if len(want) != 2 {
		t.Fatalf("perf counts the samples of %v:\n%s", want, stats)
	}
	host, err := os.Hostname()
	if err != nil {
		t.Fatal(err)
	}
	var out, said bytes.Buffer
	if err := listRecording(&console{stdout: &out, stderr: &said}, path); err != nil || said.Len() > 0 {
		t.Fatalf("%v\n%s", err, &said)
	}
	got := make(map[string]string)
	for line := range strings.Lines(out.String()) {
		name, rest, _ := strings.Cut(strings.TrimSuffix(line, "\n"), "\t")
		value, _, _ := strings.Cut(rest, "\t")
		got[name] = value
	}
	for name, samples := range want {
		if got[name] != samples {
			t.Errorf("%s has %q samples, by perf %s:\n%s", name, got[name], samples, &out)
		}
	}
	if got["host"] != host || !strings.Contains(got["command"], "perf record") {
		t.Errorf("recorded on %q by %q, which is not %s:\n%s", got["host"], got["command"], host, &out)
	}
}
