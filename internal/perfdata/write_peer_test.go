package perfdata

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/ringtap/ringtap/internal/testkit/perfrecord"
)

// copyRecords gives w the kernel's records of a recording, in the order of the file. Those of a
// directory come in the order of time.
func copyRecords(f *File, w *Writer) error {
	handle := func(record []byte) error {
		switch kind := binary.LittleEndian.Uint32(record); {
		case kind == recordFinishedRound:
			return w.Round()
		case kind >= firstUserRecord:
			return nil
		}
		return w.Record(record)
	}
	if len(f.streams) > 1 {
		o := orderer{handOn: handle, limit: 1 << 40}
		for i := range f.streams {
			if err := eachRecord(&f.streams[i], func(record []byte) error { return o.add(record, w.decoder.Time(record)) }); err != nil {
				return err
			}
		}
		return o.flush(^uint64(0))
	}
	return eachRecord(&f.streams[0], handle)
}

// eachRecord calls handle with each record of a stream, unpacked.
func eachRecord(s *stream, handle func([]byte) error) error {
	w := newWalker(s)
	plain := func() ([]byte, error) {
		for {
			record, err := w.next()
			if err != nil {
				return nil, err
			}
			if kind := binary.LittleEndian.Uint32(record); kind == recordCompressed || kind == recordCompressed2 {
				payload, err := payloadOf(record)
				return bytes.Clone(payload), err
			}
			if err := handle(bytes.Clone(record)); err != nil {
				return nil, err
			}
			if err := w.skip(attached(record)); err != nil {
				return nil, err
			}
		}
	}
	payload, err := plain()
	if err == io.EOF {
		return nil
	}
	if err != nil {
		return err
	}
	return (&inflater{payload: payload, more: plain}).records(handle)
}

// tracingDataOf returns a file's HEADER_TRACING_DATA, or nil.
func tracingDataOf(t *testing.T, path string) []byte {
	t.Helper()
	b, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if len(b) < fileHeader || b[72]&(1<<featureTracingData) == 0 {
		return nil
	}
	data := sectionAt(b[40:])
	s := sectionAt(b[data.offset+data.size:])
	return b[s.offset:][:s.size]
}

// rewrite copies a recording with a Writer that create makes.
func rewrite(t *testing.T, from string, create func(events []Event, opts WriteOptions) (*Writer, error)) {
	t.Helper()
	f, err := Open(from)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	opts := WriteOptions{Info: f.Info}
	if !f.Info.Directory {
		opts.TracingData = tracingDataOf(t, from)
	}
	w, err := create(f.Events, opts)
	if err != nil {
		t.Fatal(err)
	}
	if err := copyRecords(f, w); err != nil {
		t.Fatal(err)
	}
	if err := w.Close(Sections{BuildIDs: f.BuildIDs, Symbols: writtenSections.Symbols, Other: map[int][]byte{133: []byte("other")}}); err != nil {
		t.Fatal(err)
	}
}

func TestPeerPerfShowsACopyAsTheOriginal(t *testing.T) {
	for _, mode := range perfrecord.Modes {
		t.Run(mode.Name, func(t *testing.T) {
			from := perfrecord.Record(t, mode, busyShell...)
			want := perfrecord.Run(t, "script", "--ns", "-i", from)
			if want == "" {
				t.Fatal("perf script prints nothing")
			}
			levels := []int{0}
			if mode.Name == "callchains" || mode.Name == "packed stacks" { // what is compressed does not matter
				levels = []int{0, 1}
			}
			for _, level := range levels {
				t.Run(fmt.Sprint("a file of zstd level ", level), func(t *testing.T) {
					to := filepath.Join(t.TempDir(), "copy.data")
					rewrite(t, from, func(events []Event, opts WriteOptions) (*Writer, error) {
						opts.Level = level
						return Create(to, events, opts)
					})
					compareText(t, from, want, perfrecord.Quietly(t, "script", "--ns", "-i", to))
					compareCopy(t, from, to)
					compareSections(t, from, to, mode.Name != "packed to a pipe")
				})
				t.Run(fmt.Sprint("a pipe of zstd level ", level), func(t *testing.T) {
					var pipe bytes.Buffer
					rewrite(t, from, func(events []Event, opts WriteOptions) (*Writer, error) {
						opts.Level = level
						return NewPipeWriter(&pipe, events, opts)
					})
					compareText(t, from, want, perfrecord.Piped(t, pipe.Bytes(), "script", "--ns", "-i", "-"))
					perfrecord.Piped(t, pipe.Bytes(), "report", "--stdio", "-i", "-")
					to := filepath.Join(t.TempDir(), "pipe.data")
					if err := os.WriteFile(to, pipe.Bytes(), 0o600); err != nil {
						t.Fatal(err)
					}
					compareCopy(t, from, to)
				})
			}
		})
	}
}

// inVDSO finds a frame of a vdso in a line of perf script. Without a build id, perf takes the vdso of
// 32-bit programs from a program that it runs. If it can't, it prints neither the function's name nor
// that it is [vdso32].
var inVDSO = regexp.MustCompile(`(?m)^(\s+[0-9a-f]+) .*\(\[vdso\w*\]\)$`)

// compareText compares what perf script prints of an original and of its copy, sample by sample. perf
// names the frames of all processes by their files. Another program's file may have been removed since
// perf read the original, so samples that perf now prints differently are left out.
func compareText(t *testing.T, original, want, got string) {
	t.Helper()
	before, copied := samplesOf(want), samplesOf(got)
	if slices.Equal(before, copied) {
		return
	}
	now := samplesOf(perfrecord.Run(t, "script", "--ns", "-i", original))
	if len(now) != len(before) {
		t.Fatalf("perf script prints %d samples of the original, %d before", len(now), len(before))
	}
	for i := range before {
		if before[i] != now[i] && i < len(copied) {
			before[i], copied[i] = headOf(before[i]), headOf(copied[i])
		}
	}
	if diff := cmp.Diff(before, copied); diff != "" {
		t.Errorf("perf script (-original +copy):\n%.2000s", diff)
	}
}

// samplesOf returns the samples in the text of perf script, without what perf says of the vdso. Those of
// the same time are sorted.
func samplesOf(text string) (samples []string) {
	for line := range strings.Lines(inVDSO.ReplaceAllString(text, "$1 ([vdso])")) {
		if last := len(samples) - 1; last >= 0 && (line == "\n" || strings.HasPrefix(line, "\t")) {
			samples[last] += line
		} else {
			samples = append(samples, line)
		}
	}
	perfrecord.OrderTies(samples, headOf)
	return samples
}

// headOf returns what a sample says before its frames: the process, the time and the event.
func headOf(sample string) string {
	head, _, _ := strings.Cut(sample, "\n")
	if at := strings.LastIndex(head, ": "); at >= 0 {
		return head[:at]
	}
	return head
}

// compareCopy compares what ringtap makes of a recording and of its copy.
func compareCopy(t *testing.T, from, to string) {
	t.Helper()
	lines, f, stats := sampleLines(t, from)
	copied, g, copiedStats := sampleLines(t, to)
	orderTies(lines)
	orderTies(copied)
	if diff := cmp.Diff(lines, copied); diff != "" {
		t.Errorf("samples (-original +copy):\n%.2000s", diff)
	}
	if stats.Late != copiedStats.Late || copiedStats.Cut {
		t.Errorf("%+v, the copy %+v", stats, copiedStats)
	}
	wantInfo, gotInfo := f.Info, g.Info
	wantInfo.Pipe, wantInfo.Directory, wantInfo.Compressed = gotInfo.Pipe, gotInfo.Directory, gotInfo.Compressed
	if diff := cmp.Diff(wantInfo, gotInfo); diff != "" {
		t.Errorf("(-original +copy):\n%s", diff)
	}
	if diff := cmp.Diff(f.BuildIDs, g.BuildIDs); diff != "" {
		t.Errorf("build ids (-original +copy):\n%s", diff)
	}
}

var temporary = regexp.MustCompile(`perf-vdso\.so-\w+`)

// compareSections compares what perf prints of the headers. buildIDs says whether perf lists the
// original's build ids: perf 6.1 reads nothing in a packed pipe then.
func compareSections(t *testing.T, from, to string, buildIDs bool) {
	t.Helper()
	for _, args := range [][]string{{"evlist"}, {"buildid-list"}} {
		want, got := perfrecord.Run(t, append(args, "-i", from)...), perfrecord.Quietly(t, append(args, "-i", to)...)
		// perf reads the vdso from a temporary file.
		want, got = temporary.ReplaceAllString(want, ""), temporary.ReplaceAllString(got, "")
		if want != got && args[0] == "buildid-list" {
			// perf may have read the build ids from the files, which may have been removed since then.
			want, got = withoutChanges(want, perfrecord.Run(t, append(args, "-i", from)...), got)
		}
		if diff := cmp.Diff(want, got); diff != "" && (buildIDs || args[0] != "buildid-list") {
			t.Errorf("perf %v (-original +copy):\n%s", args, diff)
		}
	}
	perfrecord.Quietly(t, "report", "--stats", "-i", to)
	header, copied := perfrecord.Run(t, "report", "--header-only", "-i", from), perfrecord.Quietly(t, "report", "--header-only", "-i", to)
	for _, field := range []string{"hostname", "os release", "perf version", "arch", "nrcpus online", "nrcpus avail", "cpudesc", "total memory",
		"cmdline", "time of first sample", "time of last sample", "clockid frequency", "clockid: "} {
		want, got := headerLine(header, field), headerLine(copied, field)
		if strings.HasPrefix(field, "time of") && strings.HasSuffix(want, " 0.000000") {
			continue // perf has not read what it packed or piped
		}
		if want != got {
			t.Errorf("perf prints %q of the original, %q of the copy", want, got)
		}
	}
}

// withoutChanges returns what perf lists of an original and of its copy, without the lines in which a
// second list of the original differs from the first one.
func withoutChanges(first, second, copied string) (want, got string) {
	inFirst, inSecond := slices.Collect(strings.Lines(first)), slices.Collect(strings.Lines(second))
	keep := func(lines string) string {
		return strings.Join(slices.DeleteFunc(slices.Collect(strings.Lines(lines)), func(line string) bool {
			return slices.Contains(inFirst, line) != slices.Contains(inSecond, line)
		}), "")
	}
	return keep(first), keep(copied)
}

// headerLine returns the line of perf's header that starts with a field's name.
func headerLine(header, field string) string {
	for line := range strings.Lines(header) {
		if strings.HasPrefix(line, "# "+field) {
			return strings.TrimSpace(line)
		}
	}
	return fmt.Sprintf("no line of %s", field)
}
