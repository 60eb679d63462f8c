package show

import (
	"bytes"
	"strings"
	"testing"

	"github.com/ringtap/ringtap/internal/bpftrace/types"
	"github.com/ringtap/ringtap/internal/bpftrace/value"
	"github.com/ringtap/ringtap/internal/profile/histogram"
)

// The pictures are those of bpftrace 0.26's documentation of tseries: it is not installed here.
func TestSeriesAreDrawn(t *testing.T) {
	const ms = 1_000_000
	m := value.New(value.Spec{
		Name: "@", Value: &types.Type{Kind: types.TSeries}, Series: types.Int64,
		Interval: 100 * ms, Count: 4,
	})
	for i, n := range []int64{9, -5, 0, 5} {
		if i != 2 {
			m.AddSeries(value.Key{}, uint64(n), uint64(i+1)*100*ms)
		}
	}
	var out bytes.Buffer
	p := NewPrinter(&out, nil, Current(), fixedNames{})
	p.Map(m, 0, 0)
	want := []string{
		"@:",
		"             -5                                                  9",
		"hh:mm:ss.ms  |___________________________________________________|",
		"00:00:00.100 |                 .                                 * 9",
		"00:00:00.200 *                 .                                 | -5",
		"00:00:00.300 |                 .                                 | -",
		"00:00:00.400 |                 .                  *              | 5",
		"             v___________________________________________________v",
		"             -5                                                  9",
		"", "",
	}
	got := strings.Split(out.String(), "\n")
	for i := range max(len(got), len(want)) {
		if i >= len(got) || i >= len(want) || !strings.HasSuffix(got[i], want[i][min(len(want[i]), 2):]) {
			t.Fatalf("line %d:\n%s", i, &out)
		}
	}
	out.Reset()
	p.JSON = true
	p.Map(m, 0, 0)
	json := `{"type": "tseries", "data": {"@": [{"interval_start":"1970-01-01 00:00:00.100000000","value":9},` +
		`{"interval_start":"1970-01-01 00:00:00.200000000","value":-5},{"interval_start":"1970-01-01 00:00:00.400000000","value":5}]}}` + "\n"
	if out.String() != json {
		t.Errorf("%s", &out)
	}
}

func TestCurrentDialectPrintsMapsWithoutGaps(t *testing.T) {
	for _, c := range []struct {
		name string
		fill func(m *value.Map)
		spec value.Spec
		want string
	}{
		{"an average", func(m *value.Map) { m.AddAvg(value.IntKey(1), 20) },
			value.Spec{Value: aggregate(types.Avg), Keys: []*types.Type{types.Int64}}, "@[1]: 20\n"},
		{"stats", func(m *value.Map) { m.AddAvg(value.IntKey(1), 20); m.AddAvg(value.IntKey(1), 22) },
			value.Spec{Value: aggregate(types.Stats), Keys: []*types.Type{types.Int64}}, "@[1]: { .count = 2, .average = 21, .total = 42 }\n"},
		{"a number that was not set", func(*value.Map) {}, value.Spec{Value: types.Int64}, "@: 0\n"},
		{"a map without keys", func(*value.Map) {}, value.Spec{Value: types.Int64, Keys: []*types.Type{types.Int64}}, ""},
		{"a histogram", func(m *value.Map) { m.AddHist(value.Key{}, 5) },
			value.Spec{Value: aggregate(types.Hist), Scale: histogram.Log2Split(1)}, "@:\n[4, 6)                 1 |" + strings.Repeat("@", 52) + "|\n\n"},
		{"a linear histogram of many numbers", func(m *value.Map) { m.AddHist(value.Key{}, 998); m.AddHist(value.Key{}, 1000) },
			value.Spec{Value: aggregate(types.LHist), Scale: histogram.Steps(0, 1, 1000), Max: 1000}, "@:\n[998]                  1 |" + strings.Repeat("@", 52) + "|\n" +
				"[999]                  0 |" + strings.Repeat(" ", 52) + "|\n[1000, ...)            1 |" + strings.Repeat("@", 52) + "|\n\n"},
		{"a linear histogram of single numbers", func(m *value.Map) { m.AddHist(value.Key{}, 5) },
			value.Spec{Value: aggregate(types.LHist), Scale: histogram.Steps(0, 1, 10), Max: 10}, "@:\n[5]                    1 |" + strings.Repeat("@", 52) + "|\n\n"},
	} {
		var out bytes.Buffer
		m := value.New(c.spec)
		m.Name = "@"
		c.fill(m)
		NewPrinter(&out, nil, Current(), fixedNames{}).Map(m, 0, 0)
		if out.String() != c.want {
			t.Errorf("%s: %q, want %q", c.name, out.String(), c.want)
		}
	}
}
