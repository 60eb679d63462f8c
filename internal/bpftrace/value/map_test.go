package value

import (
	"testing"

	"github.com/ringtap/ringtap/internal/bpftrace/types"
)

var (
	intKey   = []*types.Type{types.Int64}
	mixedKey = []*types.Type{types.Int64, {Kind: types.String, Size: 64}}
)

func mixed(e *Encoder, n int64, s string) Key {
	return e.Key(mixedKey, []Value{Signed(n), String(s)})
}

func TestMapKeepsValuesByKey(t *testing.T) {
	m := New(Spec{Name: "@", Keys: mixedKey, Value: types.Int64})
	var e Encoder
	m.Set(mixed(&e, 1, "a"), Int(10))
	m.Set(mixed(&e, -1, "b"), Int(5))
	m.Set(mixed(&e, 1, "a"), Int(20))
	if v, ok := m.Get(mixed(&e, 1, "a")); !ok || v.N != 20 {
		t.Errorf("@[1, a] = %v, %t", v, ok)
	}
	if _, ok := m.Get(mixed(&e, 1, "b")); ok {
		t.Error("@[1, b] is there")
	}
	entries := m.Entries()
	if len(entries) != 2 || entries[0].Key()[1].S != "b" || entries[0].Key()[0].Signed() != -1 {
		t.Errorf("entries: %+v", entries)
	}
	if !m.Delete(mixed(&e, 1, "a")) || m.Delete(mixed(&e, 1, "a")) || m.Len() != 1 {
		t.Error("a key is deleted once")
	}
	m.Zero()
	if v, ok := m.Get(mixed(&e, -1, "b")); !ok || v.N != 0 {
		t.Errorf("after zero: %v, %t", v, ok)
	}
	m.Clear()
	if m.Len() != 0 || m.Bytes() != 0 {
		t.Errorf("after clear: %d keys, %d bytes", m.Len(), m.Bytes())
	}
}

func TestMapBoundsSayWhatTheyDropped(t *testing.T) {
	m := New(Spec{Keys: intKey, Value: &types.Type{Kind: types.Count}, MaxKeys: 2})
	for range 3 {
		for n := range 5 {
			m.AddCount(IntKey(uint64(n)))
		}
	}
	if m.Len() != 2 || m.Dropped.Keys != 9 {
		t.Errorf("%d keys, dropped %+v", m.Len(), m.Dropped)
	}
	m = New(Spec{Keys: intKey, Value: types.Int64, MaxBytes: 1000})
	for n := range 1000 {
		m.Set(IntKey(uint64(n)), Int(1))
	}
	if m.Bytes() > 1000 || m.Dropped.Keys == 0 || uint64(m.Len())+m.Dropped.Keys != 1000 {
		t.Errorf("%d keys, %d bytes, dropped %+v", m.Len(), m.Bytes(), m.Dropped)
	}
}

func TestLRUMapLetsGoOfTheKeyUsedLeastRecently(t *testing.T) {
	m := New(Spec{Keys: intKey, Value: types.Int64, MaxKeys: 3, LRU: true})
	for n := range 3 {
		m.Set(IntKey(uint64(n)), Int(1))
	}
	m.Get(IntKey(0))
	m.Set(IntKey(3), Int(1))
	if !m.Has(IntKey(0)) || m.Has(IntKey(1)) || m.Len() != 3 || m.Dropped.evicted != 1 {
		t.Errorf("%d keys, dropped %+v", m.Len(), m.Dropped)
	}
}

func TestUpdatesAllocateNothing(t *testing.T) {
	var e Encoder
	e.Reset()
	for _, kind := range []types.Kind{types.Count, types.Sum, types.Min, types.Max, types.Avg, types.Stats, types.Hist, types.LHist, types.TSeries} {
		m := New(Spec{Keys: mixedKey, Value: &types.Type{Kind: kind, Signed: true}, Interval: 10, Count: 5, Series: types.Int64})
		now := uint64(1)
		update := func() {
			k := mixedFast(&e, 7, "key")
			now++
			switch kind {
			case types.Count:
				m.AddCount(k)
			case types.Sum:
				m.AddSum(k, 3)
			case types.Min:
				m.AddMin(k, 3)
			case types.Max:
				m.AddMax(k, 3)
			case types.Avg, types.Stats:
				m.AddAvg(k, 3)
			case types.Hist, types.LHist:
				m.AddHist(k, 3)
			case types.TSeries:
				m.AddSeries(k, 3, now)
			}
		}
		update()
		if n := testing.AllocsPerRun(100, update); n != 0 {
			t.Errorf("kind %d: %v allocations", kind, n)
		}
	}
	m := New(Spec{Keys: intKey, Value: types.Int64})
	if n := testing.AllocsPerRun(100, func() {
		m.Set(IntKey(5), Int(1))
		m.Get(IntKey(5))
		m.Delete(IntKey(5))
	}); n != 0 {
		t.Errorf("set, get, delete: %v allocations", n)
	}
}

func mixedFast(e *Encoder, n uint64, s string) Key {
	e.Reset()
	e.Int(n)
	e.String(s)
	return e.Done()
}

func BenchmarkCount(b *testing.B) {
	m := New(Spec{Keys: mixedKey, Value: &types.Type{Kind: types.Count}})
	var e Encoder
	b.ReportAllocs()
	for i := range b.N {
		m.AddCount(mixedFast(&e, uint64(i)&1023, "bash"))
	}
}

func BenchmarkCountByNumber(b *testing.B) {
	m := New(Spec{Keys: intKey, Value: &types.Type{Kind: types.Count}})
	b.ReportAllocs()
	for i := range b.N {
		m.AddCount(IntKey(uint64(i) & 1023))
	}
}

func BenchmarkEntries(b *testing.B) {
	m := New(Spec{Keys: mixedKey, Value: &types.Type{Kind: types.Count}})
	var e Encoder
	for i := range 100_000 {
		m.AddCount(mixedFast(&e, uint64(i*7919%100_003), "bash"))
	}
	for b.Loop() {
		m.Entries()
	}
}
