package perfdata

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"golang.org/x/sys/unix"

	"github.com/ringtap/ringtap/internal/testkit/perfrecord"
	"github.com/ringtap/ringtap/perfevent"
)

// busyShell is a shell that starts programs. It loops before, since programs that run for less than a
// millisecond may have no sample.
var busyShell = []string{"sh", "-c", "i=0; while [ $i -lt 100000 ]; do i=$((i+1)); done; i=0; while [ $i -lt 40 ]; do /bin/true; i=$((i+1)); done"}

// sampleLines returns a line for each sample, as perf script has it.
func sampleLines(t *testing.T, path string) ([]string, *File, Stats) {
	t.Helper()
	f, err := Open(path)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { f.Close() })
	if f.Problem != nil {
		t.Error(f.Problem)
	}
	var lines []string
	stats, err := f.Read(func(r perfevent.Record) error {
		if s, ok := r.(*perfevent.Sample); ok {
			line := fmt.Sprintf("%d/%d", int32(s.PID), int32(s.TID))
			if f.Events[s.Sampling].Attr.Sample_type&unix.PERF_SAMPLE_CPU != 0 {
				line += fmt.Sprintf(" [%03d]", s.CPU)
			}
			lines = append(lines, fmt.Sprintf("%s %d.%09d: %d %s:", line, s.Time/1e9, s.Time%1e9, s.Period, f.Events[s.Sampling].Name))
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	if stats.Malformed > 0 {
		t.Errorf("%d records are malformed: %v", stats.Malformed, stats.MalformedError)
	}
	return lines, f, stats
}

func TestPeerRecordingsAreReadAsPerfReadsThem(t *testing.T) {
	for _, mode := range perfrecord.Modes {
		t.Run(mode.Name, func(t *testing.T) {
			path := perfrecord.Record(t, mode, busyShell...)
			lines, f, stats := sampleLines(t, path)
			t.Run("samples", func(t *testing.T) { compareSamples(t, path, f, lines) })
			t.Run("counts", func(t *testing.T) { compareCounts(t, path, mode.Name, &stats) })
			t.Run("header", func(t *testing.T) { compareHeader(t, path, mode.Name, f, &stats) })
		})
	}
}

// orderTies sorts the lines of samples that have the same time.
func orderTies(lines []string) {
	perfrecord.OrderTies(lines, func(line string) string { return line })
}

// compareSamples compares a line for each sample with perf script's.
func compareSamples(t *testing.T, path string, f *File, got []string) {
	fields := "pid,tid,time,period,event"
	if f.Events[0].Attr.Sample_type&unix.PERF_SAMPLE_CPU != 0 {
		fields = "pid,tid,cpu,time,period,event"
	}
	var want []string
	for line := range strings.Lines(perfrecord.Run(t, "script", "--ns", "-F", fields, "-i", path)) {
		if words := strings.Join(strings.Fields(line), " "); strings.HasSuffix(words, ":") { // not of a callchain
			want = append(want, words)
		}
	}
	if len(want) == 0 {
		t.Fatal("perf script prints nothing")
	}
	orderTies(want)
	orderTies(got)
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-perf +ringtap):\n%.2000s", diff)
	}
}

// statNames are what perf report --stats calls types of records.
var statNames = map[perfevent.RecordType]string{
	unix.PERF_RECORD_MMAP: "MMAP", unix.PERF_RECORD_MMAP2: "MMAP2", unix.PERF_RECORD_COMM: "COMM", unix.PERF_RECORD_FORK: "FORK",
	unix.PERF_RECORD_EXIT: "EXIT", unix.PERF_RECORD_LOST: "LOST", unix.PERF_RECORD_SWITCH: "SWITCH",
	unix.PERF_RECORD_SWITCH_CPU_WIDE: "SWITCH_CPU_WIDE", unix.PERF_RECORD_NAMESPACES: "NAMESPACES", unix.PERF_RECORD_CGROUP: "CGROUP",
	unix.PERF_RECORD_KSYMBOL: "KSYMBOL", unix.PERF_RECORD_BPF_EVENT: "BPF_EVENT", unix.PERF_RECORD_SAMPLE: "SAMPLE",
	recordFinishedRound: "FINISHED_ROUND",
}

// compareCounts compares the numbers of records with perf report --stats.
func compareCounts(t *testing.T, path, name string, stats *Stats) {
	got := make(map[string]string)
	for kind, n := range stats.Records {
		if name := statNames[kind]; name != "" {
			got[name] = fmt.Sprint(n)
		}
	}
	samples := uint64(0)
	for _, n := range stats.Samples {
		samples += n
	}
	got["SAMPLE"] = fmt.Sprint(samples)
	want := make(map[string]string)
	for line := range strings.Lines(perfrecord.Run(t, "report", "--stats", "-i", path)) {
		words := strings.Fields(line)
		if len(words) >= 3 && words[1] == "events:" && slices.Contains(slices.Collect(maps.Values(statNames)), words[0]) && words[2] != "0" && want[words[0]] == "" {
			want[words[0]] = words[2]
		}
	}
	if len(want) == 0 && name == "packed to a pipe" {
		t.Skip("perf 6.1 counts nothing in a packed pipe")
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-perf +ringtap):\n%s", diff)
	}
}

// withoutBuildIDs are the recordings for which perf writes no build ids into the header: it does not read
// what it packs, and mmap records have them already.
var withoutBuildIDs = []string{"packed", "packed stacks", "to a pipe", "packed to a pipe", "build ids"}

// compareHeader compares what is known of the recording with perf report --header-only, and the build
// ids with perf buildid-list.
func compareHeader(t *testing.T, path, name string, f *File, stats *Stats) {
	header := perfrecord.Run(t, "report", "--header-only", "-I", "-i", path)
	for field, text := range map[string]string{
		"hostname": f.Info.Hostname, "os release": f.Info.Release, "perf version": f.Info.PerfVersion, "arch": f.Info.Arch,
		"nrcpus online": fmt.Sprint(f.Info.CPUs), "cpudesc": f.Info.CPUDesc, "cmdline": strings.Join(f.Info.Command, " "),
	} {
		if !strings.Contains(header, "# "+field+" : "+strings.TrimSpace(text)) {
			t.Errorf("perf's header has no %s %q:\n%s", field, text, header)
		}
	}
	for field, time := range map[string]uint64{"first": stats.First, "last": stats.Last} {
		want := fmt.Sprintf("# time of %s sample : %d.%06d", field, time/1e9, time%1e9/1000)
		unknown := fmt.Sprintf("# time of %s sample : 0.000000", field) // perf has not read what it packed or piped
		if strings.Contains(header, "# time of "+field+" sample : ") && !strings.Contains(header, unknown) && !strings.Contains(header, want) {
			t.Errorf("perf's header has no %q:\n%s", want, header)
		}
	}
	var want, got []string
	for line := range strings.Lines(perfrecord.Run(t, "buildid-list", "-i", path)) {
		want = append(want, strings.Join(strings.Fields(line), " "))
	}
	for _, b := range f.BuildIDs {
		got = append(got, fmt.Sprintf("%x %s", b.ID, b.Filename))
	}
	slices.Sort(want)
	slices.Sort(got)
	if diff := cmp.Diff(want, got); diff != "" && !slices.Contains(withoutBuildIDs, name) {
		t.Errorf("build ids (-perf +ringtap):\n%s", diff)
	}
}
