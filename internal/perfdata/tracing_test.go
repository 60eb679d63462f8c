package perfdata

import (
	"encoding/binary"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// formatText is the text of a tracepoint's format, except its end.
var formatText = "name: sched_switch\nID: 300\nformat:\n" + strings.Repeat("\tfield:int prev_pid;\toffset:8;\tsize:4;\tsigned:1;\n", 2)

// tracingData is what perf writes of two tracepoints, one of them ftrace's own.
func tracingData() []byte {
	b := append([]byte(tracingMagic), "0.6\x00\x00\x08\x00\x10\x00\x00header_page\x00"...)
	b = append(append(b, u64s(4)...), "pageheader_event\x00"...)
	b = append(append(b, u64s(5)...), "event"...)
	format := append(u64s(uint64(len(formatText))), formatText...)
	b = append(append(b, 1, 0, 0, 0), format...)
	b = append(append(append(b, 1, 0, 0, 0), "sched\x00\x01\x00\x00\x00"...), format...)
	b = append(append(b, 0, 0, 0, 0, 5, 0, 0, 0), "texts"...) // no symbols
	return append(b, make([]byte, 8)...)                      // no names of threads
}

// tracingPipe is a pipe with tracing data.
func tracingPipe() []byte {
	data := tracingData()
	b := append([]byte(Magic), u64s(pipeHeader)...)
	b = append(b, userRecord(recordAttr, append(attr(), u64s(firstID)...))...)
	b = append(b, userRecord(recordTracingData, binary.LittleEndian.AppendUint64(nil, uint64(len(data))))...)
	b = append(b, data...)
	b = append(b, make([]byte, (8-len(data)%8)%8)...)
	return append(b, sample(10)...)
}

func TestFormatsOfTracepointsAreRead(t *testing.T) {
	file := small()
	file.features[featureTracingData] = tracingData()
	for name, b := range map[string][]byte{"file": file.bytes(), "pipe": tracingPipe()} {
		f, err := reader(b)
		if err != nil || f.Problem != nil {
			t.Fatalf("%s: %v, %v", name, err, f.Problem)
		}
		var systems []string
		for _, format := range f.Formats {
			systems = append(systems, format.System)
			if string(format.Text) != formatText {
				t.Errorf("%s: %q", name, format.Text)
			}
		}
		if string(f.KernelStrings) != "texts" {
			t.Errorf("%s: %q", name, f.KernelStrings)
		}
		if !slices.Equal(systems, []string{"ftrace", "sched"}) {
			t.Errorf("%s: %q", name, systems)
		}
		if _, stats, err := times(f); err != nil || stats.Samples[0] == 0 {
			t.Errorf("%s: %+v, %v", name, stats, err)
		}
	}
}

// Whatever is wrong with the formats, the samples are read.
func TestDamagedFormatsOfTracepointsAreAProblemOnly(t *testing.T) {
	whole := tracingData()
	for n := range len(whole) - 8 {
		m := small()
		m.features[featureTracingData] = whole[:n]
		f, err := reader(m.bytes())
		if err != nil {
			t.Fatalf("%d bytes: %v", n, err)
		}
		if f.Problem == nil {
			t.Errorf("%d bytes are taken for all", n)
		}
		if got, _, err := times(f); err != nil || len(got) != 7 {
			t.Errorf("%d bytes: %v, %v", n, got, err)
		}
	}
}

func TestWrittenTracingDataIsRead(t *testing.T) {
	long := strings.Repeat("format ", shortestFormat)
	written := Tracing{Page: []byte("page"), Event: []byte("event"), Strings: []byte("0x1 : \"text\"\n"), Formats: []EventFormat{
		{"sched", []byte(long + "1")}, {"irq", []byte(long + "2")}, {"sched", []byte(long + "3")},
	}}
	file := small()
	file.features[featureTracingData] = written.Bytes()
	f, err := reader(file.bytes())
	if err != nil || f.Problem != nil {
		t.Fatal(err, f.Problem)
	}
	want := []EventFormat{written.Formats[1], written.Formats[0], written.Formats[2]}
	if diff := cmp.Diff(want, f.Formats); diff != "" {
		t.Errorf("(-written +read):\n%s", diff)
	}
	if string(f.KernelStrings) != string(written.Strings) {
		t.Errorf("texts %q", f.KernelStrings)
	}
}
