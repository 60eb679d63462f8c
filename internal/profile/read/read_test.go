package read

import (
	"bytes"
	"compress/gzip"
	"encoding/binary"
	"errors"
	"io"
	"math"
	"runtime"
	"strings"
	"testing"
	"testing/iotest"

	pprof "github.com/google/pprof/profile"

	"github.com/ringtap/ringtap/internal/output"
	"github.com/ringtap/ringtap/internal/profile"
)

func TestWhatIsNoProfileIsSaidToBeNone(t *testing.T) {
	for text, want := range map[string]string{
		"":                             "it is empty; ringtap reads perf.data, folded stacks, pprof, perf script's text and its own JSON",
		"\n\n \n":                      "it is empty; ringtap reads",
		"# only\n# comments 3\n":       `it starts with "# only"; ringtap reads`,
		"\n  hello world\n":            `it starts with "  hello world"; ringtap reads`,
		"a;b;c\n":                      `it starts with "a;b;c"`,
		"\x7fELF\x02\x01\x01":          `it starts with "\x7fELF\x02\x01\x01"`,
		`{"traceEvents": []}`:          `it starts with "{\"traceEvents\": []}"`,
		`{"schema": "ringtap-profile`:  `it starts with`,
		"{":                            `it starts with "{"`,
		"\n" + strings.Repeat("x", 99): `it starts with "` + strings.Repeat("x", 40) + `"`,
	} {
		_, err := Profile("some.file", strings.NewReader(text))
		var unknown *UnknownError
		if !errors.As(err, &unknown) || !strings.HasPrefix(err.Error(), "read some.file: "+want) {
			t.Errorf("%.40q: %v, want %s", text, err, want)
		}
	}
	speedscope := write(t, written(), ".speedscope.json", output.FileOptions{})
	if _, err := Profile("p", bytes.NewReader(speedscope)); !errors.As(err, new(*UnknownError)) {
		t.Errorf("speedscope's JSON: %v", err)
	}
}

func TestARecordingOfPerfHasAnErrorOfItsOwn(t *testing.T) {
	for _, start := range []string{"PERFILE2h\x00", "2ELIFREP\x00\x00"} {
		if _, err := Profile("perf.data", strings.NewReader(start)); !errors.Is(err, ErrPerfData) {
			t.Errorf("%q: %v", start, err)
		}
	}
}

func TestErrorsOfReadingAreKept(t *testing.T) {
	broken := errors.New("broken")
	for name, start := range map[string]string{
		"nothing": "", "folded": "a;b 1\n", "script": "a 1 1.000000: cycles:\n\t1 f (g)\n",
		"JSON": `{"schema": "ringtap-profile", "version": 2, "rows": [`, "pprof": "\x0a\x04\x08\x01\x10\x02", "gzip": "\x1f\x8b\x08",
	} {
		if _, err := Profile("p", io.MultiReader(strings.NewReader(start), iotest.ErrReader(broken))); !errors.Is(err, broken) {
			t.Errorf("%s: %v", name, err)
		}
	}
}

func TestALineOfMoreThanAMegabyteIsAnError(t *testing.T) {
	for length, long := range map[int]bool{maxLine: false, maxLine + 1: true, 3 * maxLine: true} {
		text := "a;b 1\n" + strings.Repeat("f", length-len(" 1")) + " 1\n"
		_, err := Profile("p", strings.NewReader(text))
		if line := (*LineError)(nil); long != errors.As(err, &line) || long && line.Line != 2 {
			t.Errorf("%d bytes: %v", length, err)
		}
	}
}

func TestErrorsInATextHaveTheLine(t *testing.T) {
	for text, want := range map[string]string{
		"a;b 1\n\na;b\n":                          `line 3: it is not a stack and a number: "a;b"`,
		"a;b 1\na;c -1\n":                         "line 2: it is not a stack",
		"a;b 1\na;c 1.5\n":                        "line 2: the value 1.5 is not a whole number",
		"a;b 18446744073709551616\n":              "line 1: the value 18446744073709551616 is not",
		"a;b 18446744073709551615\na;b 1\n":       "line 2: the values add up to more than 64 bits",
		"# x\na 1 1.000000: e:\n\t1 f (g)\n\nb\n": `line 5: it is neither the head of a sample nor a call: "b"`,
	} {
		if _, err := Profile("p", strings.NewReader(text)); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%q: %v, want %s", text, err, want)
		}
	}
}

func TestSumsThatDoNotFitAreAnError(t *testing.T) {
	const most = "18446744073709551615"
	for name, text := range map[string]string{
		"folded": "a;b " + most + "\na;c 1\n",
		"JSON": `{"schema":"ringtap-profile","version":2,"metrics":[{"name":"n"}],"processes":[{"pid":1}],"rows":[` +
			`{"process":0,"user":-1,"kernel":-1,"values":[` + most + `]},{"process":0,"user":-1,"kernel":-1,"values":[1]}]}`,
	} {
		if _, err := Profile("p", strings.NewReader(text)); !errors.Is(err, errOverflow) {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// checkIndexes fails if a form of output would refuse p.
func checkIndexes(t *testing.T, p *profile.Profile) {
	t.Helper()
	if err := output.WriteFolded(io.Discard, p, output.FileOptions{Inlines: true}); err != nil {
		t.Fatal(err)
	}
}

// TestMemoryIsAMultipleOfTheInput reads what needs the most memory for its size.
func TestMemoryIsAMultipleOfTheInput(t *testing.T) {
	var b strings.Builder
	texts := map[string]string{}
	for i := range 100000 { // each line has its own process, frame and stack
		b.WriteString(strings.Join([]string{base62(i), base62(i) + " 1\n"}, ";"))
	}
	texts["distinct folded stacks"] = b.String()
	b.Reset()
	for range 500 {
		b.WriteString("a" + strings.Repeat(";b", 1000) + ";" + base62(b.Len()) + " 1\n")
	}
	texts["deep folded stacks"] = b.String()
	b.Reset()
	for i := range 100000 {
		b.WriteString("a " + base62(i) + " 1\n")
	}
	texts["processes"] = b.String()
	b.Reset()
	for i := range 50000 {
		b.WriteString("a 1 1.000: " + base62(i%40) + ":\n\t" + "1 " + base62(i) + "\n")
	}
	texts["samples of many events"] = b.String()
	texts["metrics in JSON"] = `{"schema":"ringtap-profile","version":2,"metrics":[{"name":"n"}` + strings.Repeat(`,{"name":"n"}`, 100000) + `]}`
	texts["objects in JSON"] = `{"schema":"ringtap-profile","version":2,"metrics":[{"name":"n"}],"objects":[{"path":"n"}` + strings.Repeat(`,{"path":"n"}`, 100000) + `]}`
	texts["frames in JSON"] = `{"schema":"ringtap-profile","version":2,"metrics":[{"name":"n"}],"objects":[{}],"frames":[{"address":"0x1"}` + strings.Repeat(`,{"address":"0x1"}`, 100000) + `]}`
	texts["lines in JSON"] = `{"schema":"ringtap-profile","version":2,"metrics":[{"name":"n"}],"objects":[{}],"frames":[{"address":"0x1","lines":[{}` + strings.Repeat(`,{}`, 500000) + `]}]}`
	texts["stacks in JSON"] = `{"schema":"ringtap-profile","version":2,"metrics":[{"name":"n"}],"stacks":[{"frames":[]}` + strings.Repeat(`,{"frames":[]}`, 100000) + `]}`
	texts["notes in JSON"] = `{"schema":"ringtap-profile","version":2,"metrics":[{"name":"n"}],"notes":[""` + strings.Repeat(`,""`, 500000) + `]}`
	texts["unknown fields in JSON"] = `{"schema":"ringtap-profile","version":2,"metrics":[{"name":"n"}],"x":[""` + strings.Repeat(`,""`, 500000) + `]}`
	start := "\x0a\x04\x08\x01\x10\x01\x32\x00\x32\x01a"
	texts["empty samples in pprof"] = start + strings.Repeat("\x12\x04\x0a\x00\x12\x00", 300000)
	texts["small samples in pprof"] = start + strings.Repeat("\x12\x05\x0a\x00\x12\x01\x01", 300000)
	labels := "\x12\x01\x01" + strings.Repeat("\x1a\x02\x08\x01", 300000) // of one sample
	texts["labels in pprof"] = start + "\x12" + string(binary.AppendUvarint(nil, uint64(len(labels)))) + labels
	memory := func() (allocated, kept int64) {
		runtime.GC()
		var m runtime.MemStats
		runtime.ReadMemStats(&m)
		return int64(m.TotalAlloc), int64(m.HeapAlloc)
	}
	for name, text := range texts {
		allocated, kept := memory()
		p, err := Profile("p", strings.NewReader(text))
		allocatedThen, keptThen := memory()
		runtime.KeepAlive(p)
		allocated, kept = (allocatedThen-allocated)/int64(len(text)), (keptThen-kept)/int64(len(text))
		t.Logf("%s: allocated %d times %d bytes, kept %d times; %v", name, allocated, len(text), kept, err)
		if allocated > 250 || kept > 40 {
			t.Errorf("%s: of %d bytes, %d times as many are allocated, and %d times as many kept", name, len(text), allocated, kept)
		}
	}
}

func base62(i int) string {
	const digits = "0123456789abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ"
	s := ""
	for {
		s += digits[i%62 : i%62+1]
		if i /= 62; i == 0 {
			return s + "_"
		}
	}
}

func TestACompressedFileThatGrowsTooMuchIsRefused(t *testing.T) {
	var b bytes.Buffer
	z := gzip.NewWriter(&b)
	z.Write([]byte("\x0a\x04\x08\x01\x10\x02"))
	z.Write(bytes.Repeat([]byte("\x32\x00"), 8<<20))
	if err := z.Close(); err != nil {
		t.Fatal(err)
	}
	if _, err := Profile("p", &b); err == nil || !strings.Contains(err.Error(), "no real profile is so compressible") {
		t.Errorf("%v", err)
	}
}

func TestACompressedFileThatIsNoPprofIsUnknown(t *testing.T) {
	var b bytes.Buffer
	z := gzip.NewWriter(&b)
	z.Write([]byte("a;b 1\n"))
	if err := z.Close(); err != nil {
		t.Fatal(err)
	}
	_, err := Profile("p", &b)
	if !errors.As(err, new(*UnknownError)) || !strings.Contains(err.Error(), "decompress it first") {
		t.Errorf("%v", err)
	}
}

func TestPprofOfOtherTools(t *testing.T) {
	program := &pprof.Mapping{ID: 1, Start: 0x400000, Limit: 0x500000, Offset: 0x1000, File: "/usr/bin/prog", BuildID: "ab"}
	work := &pprof.Function{ID: 1, Name: "work", SystemName: "_work"}
	inner := &pprof.Function{ID: 2, Name: "inner", Filename: "a.go", StartLine: 3}
	in := &pprof.Profile{
		SampleType: []*pprof.ValueType{{Type: "alloc_objects", Unit: "count"}, {Type: "delay", Unit: "milliseconds"}},
		Mapping:    []*pprof.Mapping{program},
		Function:   []*pprof.Function{work, inner},
		Location: []*pprof.Location{
			{ID: 1, Mapping: program, Address: 0x400010, Line: []pprof.Line{{Function: inner, Line: 4}, {Function: work, Line: 9}}},
			{ID: 2, Mapping: program, Address: 0x400020},
		},
		PeriodType: &pprof.ValueType{Type: "cpu", Unit: "seconds"}, Period: math.MaxInt64,
	}
	in.Sample = []*pprof.Sample{{Location: in.Location, Value: []int64{2, 7}}}
	var b bytes.Buffer
	if err := in.WriteUncompressed(&b); err != nil {
		t.Fatal(err)
	}
	p := read(t, b.Bytes())
	if got, want := foldedText(t, p, ""), "prog;[unknown] (prog);work;inner_[i] 7\n"; got != want {
		t.Errorf("stacks %q, want %q", got, want)
	}
	if m := p.Metrics[0]; m.Name != "delay" || m.Unit != "nanoseconds" || m.Scale != 1e6 || p.Period != 0 {
		t.Errorf("metric %+v, period %v", m, p.Period)
	}
	if f := p.Frames[p.Stacks[0].Frames[1]]; f.Address != 0x1010 || f.RawName != "_work" || f.Lines[0].File != "a.go" || p.Objects[f.Object].BuildID != "ab" {
		t.Errorf("frame %+v", f)
	}
	in.Sample[0].Value[0] = -2
	b.Reset()
	if err := in.WriteUncompressed(&b); err != nil {
		t.Fatal(err)
	}
	if _, err := Profile("p", &b); err == nil || !strings.Contains(err.Error(), "difference of two profiles") {
		t.Errorf("a negative value: %v", err)
	}
}
