package profile

import (
	"reflect"
	"testing"
)

func TestAColumnHasTheRowsThatCountInItAlone(t *testing.T) {
	p := &Profile{
		Metrics: []Metric{{Name: "cycles"}, {Name: "faults"}},
		Rows:    []Row{{Process: 0, Values: []uint64{5, 0}}, {Process: 1, Values: []uint64{0, 7}}, {Process: 2, Values: []uint64{1, 2}}},
		Notes:   []string{"a note"},
	}
	got := p.Column(1)
	want := []Row{{Process: 1, Values: []uint64{7}}, {Process: 2, Values: []uint64{2}}}
	if !reflect.DeepEqual(got.Rows, want) || len(got.Metrics) != 1 || got.Metrics[0].Name != "faults" || len(got.Notes) != 1 {
		t.Errorf("%+v", got)
	}
	got.Rows[0].Values = append(got.Rows[0].Values, 1)
	if len(p.Rows) != 3 || len(p.Rows[1].Values) != 2 || p.Rows[1].Values[1] != 7 {
		t.Errorf("the profile itself has changed: %+v", p.Rows)
	}
}
