package output

import (
	"bytes"
	"math"
	"testing"

	pprof "github.com/google/pprof/profile"

	"github.com/ringtap/ringtap/internal/profile"
)

func writePprof(t *testing.T, p *profile.Profile) *pprof.Profile {
	t.Helper()
	var b bytes.Buffer
	if err := WritePprof(&b, p, FileOptions{}); err != nil {
		t.Fatal(err)
	}
	got, err := pprof.ParseData(b.Bytes())
	if err != nil {
		t.Fatal(err)
	}
	return got
}

func TestPprof(t *testing.T) {
	golden(t, "pprof.txt", []byte(writePprof(t, sample()).String()))
}

func TestPprofSumsToTheRows(t *testing.T) {
	p := forest(21, 300)
	got := writePprof(t, p)
	want := map[string]uint64{
		"samples/count":   total(p, 0),
		"cpu/nanoseconds": total(p, 0) * p.Metrics[0].Scale,
		"switches/count":  total(p, 1),
	}
	if len(got.SampleType) != len(want) {
		t.Fatalf("sample types %v, want %d", got.SampleType, len(want))
	}
	for i, st := range got.SampleType {
		var sum uint64
		for _, s := range got.Sample {
			sum += uint64(s.Value[i])
		}
		if name := st.Type + "/" + st.Unit; sum != want[name] {
			t.Errorf("%s sums to %d, want %d", name, sum, want[name])
		}
	}
	if got.DefaultSampleType != "cpu" || got.Period != int64(p.Period) || got.TimeNanos != p.Start.UnixNano() || got.DurationNanos != int64(p.Duration) {
		t.Errorf("heading is %s %d %d %d", got.DefaultSampleType, got.Period, got.TimeNanos, got.DurationNanos)
	}
}

// TestPprofStacksAreTheFoldedOnes builds folded lines from the pprof form.
func TestPprofStacksAreTheFoldedOnes(t *testing.T) {
	p := forest(22, 200)
	want := map[string]uint64{}
	for _, l := range stackLines(p, 0, false) {
		key := ""
		for _, f := range l.Frames[1:] {
			if len(f) > 4 && f[len(f)-4:] == "_[k]" {
				f = f[:len(f)-4]
			}
			key += ";" + f
		}
		want[key] += l.Value
	}
	got := map[string]uint64{}
	for _, s := range writePprof(t, p).Sample {
		key := ""
		for i := len(s.Location) - 1; i >= 0; i-- {
			l := s.Location[i]
			if len(l.Line) == 0 {
				key += ";[unknown] (" + objectName(&profile.Object{Path: l.Mapping.File}) + ")"
			}
			for n := len(l.Line) - 1; n >= 0; n-- {
				key += ";" + l.Line[n].Function.Name
			}
		}
		if s.Value[0] > 0 {
			got[key] += uint64(s.Value[0])
		}
	}
	if len(got) != len(want) {
		t.Fatalf("%d stacks, want %d", len(got), len(want))
	}
	for key, v := range want {
		if got[key] != v {
			t.Errorf("%s: %d, want %d", key, got[key], v)
		}
	}
}

func TestPprofCarriesNoHostileText(t *testing.T) {
	got := writePprof(t, hostile())
	var texts []string
	texts = append(texts, got.Comments...)
	for _, m := range got.Mapping {
		texts = append(texts, m.File, m.BuildID)
	}
	for _, f := range got.Function {
		texts = append(texts, f.Name, f.SystemName, f.Filename)
	}
	for _, s := range got.Sample {
		texts = append(texts, s.Label["comm"]...)
		texts = append(texts, s.Label["cgroup"]...)
	}
	for _, s := range texts {
		checkVisible(t, s, "")
	}
}

func TestPprofAddressesLieInTheirMapping(t *testing.T) {
	p := sample()
	p.Frames[5].Address = math.MaxUint64 - 1
	for _, l := range writePprof(t, p).Location {
		if m := l.Mapping; m != nil && (l.Address < m.Start || l.Address >= m.Limit) {
			t.Errorf("address %#x is not in [%#x, %#x) of %s", l.Address, m.Start, m.Limit, m.File)
		}
	}
}

func TestPprofValuesThatDoNotFitAreTheLargest(t *testing.T) {
	p := sample()
	p.Rows[0].Values[0] = math.MaxUint64 / 2
	for _, v := range writePprof(t, p).Sample[0].Value {
		if v != math.MaxInt64 {
			t.Errorf("value %d, want the largest", v)
		}
	}
}
