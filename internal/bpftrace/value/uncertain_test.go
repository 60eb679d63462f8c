package value

import (
	"testing"

	"github.com/ringtap/ringtap/internal/bpftrace/types"
)

func TestUsesOfWhatALossMadeUncertainAreCounted(t *testing.T) {
	text := &types.Type{Kind: types.String, Size: 16}
	for name, of := range map[string]*types.Type{"numbers": types.Uint64, "texts": text} {
		m := New(Spec{Name: "@", Keys: []*types.Type{types.Uint64}, Value: of})
		for i := range uint64(100) {
			m.Set(IntKey(i), Value{N: i, S: "x"})
		}
		m.Get(IntKey(70))
		m.Doubt()
		m.Set(IntKey(70), Value{}) // certain again
		m.Set(IntKey(100), Value{})
		m.Delete(IntKey(71))
		m.Set(IntKey(71), Value{}) // in the cell of the deleted one
		for _, k := range []uint64{70, 71, 100, 500} {
			m.Get(IntKey(k))
		}
		if m.Uncertain != 0 {
			t.Errorf("%s: %d uses of certain values are counted", name, m.Uncertain)
		}
		m.Get(IntKey(69))
		m.Get(IntKey(72))
		m.Has(IntKey(1))
		if m.Uncertain != 3 {
			t.Errorf("%s: %d uses are counted, want 3", name, m.Uncertain)
		}
		m.Clear()
		m.Set(IntKey(1), Value{})
		if m.Get(IntKey(1)); m.Uncertain != 3 {
			t.Errorf("%s: what was cleared is uncertain", name)
		}
	}
}

func TestAggregationsAreNotUncertain(t *testing.T) {
	m := New(Spec{Name: "@", Keys: []*types.Type{types.Uint64}, Value: &types.Type{Kind: types.Count}})
	m.AddCount(IntKey(1))
	m.Doubt()
	if m.Get(IntKey(1)); m.Uncertain != 0 {
		t.Error("a count is uncertain")
	}
}
