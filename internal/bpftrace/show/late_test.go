package show

import (
	"bytes"
	"testing"

	"github.com/ringtap/ringtap/internal/bpftrace/types"
	"github.com/ringtap/ringtap/internal/bpftrace/value"
)

func TestMapsShowWhichKeysAndNumbersWereReadLate(t *testing.T) {
	hist := types.Type{Kind: types.Hist}
	for _, test := range []struct {
		name       string
		of         *types.Type
		fill       func(m *value.Map, k value.Key)
		text, json string
	}{
		{"a number", types.Int64, func(m *value.Map, k value.Key) { m.Set(k, value.Int(5)) },
			"@[~7]: ~5\n", `{"type": "map", "data": {"@": {"~7": "~5"}}}` + "\n"},
		{"a histogram", &hist, func(m *value.Map, k value.Key) { m.AddHist(k, 1) },
			"@[~7]: ~\n[1]                    1 |@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@|\n\n",
			`{"type": "hist", "data": {"@": {"~7": [{"min": 1, "max": 1, "count": 1}]}}}` + "\n"},
	} {
		m := value.New(value.Spec{Name: "@", Keys: []*types.Type{types.Int64}, Value: test.of})
		k := value.IntKey(7)
		test.fill(m, k)
		m.MarkKey(k)
		m.MarkNumber(k)
		for json, want := range map[bool]string{false: test.text, true: test.json} {
			var out bytes.Buffer
			p := NewPrinter(&out, nil, Default(), fixedNames{})
			p.JSON = json
			p.Map(m, 0, 0)
			if err := p.Flush(); err != nil {
				t.Fatal(err)
			}
			if out.String() != want {
				t.Errorf("%s, JSON %v:\n%q, want\n%q", test.name, json, &out, want)
			}
		}
	}
}
