package value

import (
	"fmt"
	"math/rand/v2"
	"runtime"
	"testing"

	"github.com/ringtap/ringtap/internal/bpftrace/types"
)

// A million keys of a number and a string stay far below 256 MiB, and Bytes says about what
// they take.
func TestAMillionKeysFit(t *testing.T) {
	for _, kind := range []types.Kind{types.Count, types.Hist} {
		before := heap()
		m := New(Spec{Keys: mixedKey, Value: &types.Type{Kind: kind}})
		var e Encoder
		for i := range 1_000_000 {
			k := mixed(&e, int64(i), fmt.Sprintf("thread-%d", i%1000))
			switch kind {
			case types.Count:
				m.AddCount(k)
			case types.Hist:
				m.AddHist(k, int64(i))
			}
		}
		used := heap() - before
		if m.Len() != 1_000_000 || used > 200<<20 {
			t.Errorf("kind %d: %d keys in %d MiB", kind, m.Len(), used>>20)
		}
		if said := m.Bytes(); said > 2*used || used > 2*said {
			t.Errorf("kind %d: Bytes is %d MiB, the heap %d MiB", kind, said>>20, used>>20)
		}
		runtime.KeepAlive(m)
	}
}

func heap() int64 {
	runtime.GC()
	var s runtime.MemStats
	runtime.ReadMemStats(&s)
	return int64(s.HeapAlloc)
}

// Random operations on a Map and on Go's map come to the same.
func TestMapIsAsGosMap(t *testing.T) {
	random := rand.New(rand.NewPCG(1, 2))
	m := New(Spec{Keys: mixedKey, Value: &types.Type{Kind: types.String}})
	type key struct {
		n int64
		s string
	}
	want := map[key]string{}
	var e Encoder
	for range 200_000 {
		k := key{random.Int64N(40) - 20, string(rune('a' + random.IntN(20)))}
		at := mixed(&e, k.n, k.s)
		switch random.IntN(100) {
		default:
			v := fmt.Sprint(random.IntN(1000))
			m.Set(at, String(v))
			want[k] = v
		case 0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16, 17, 18, 19:
			_, there := want[k]
			if m.Delete(at) != there {
				t.Fatalf("delete %v: was there: %t", k, there)
			}
			delete(want, k)
		case 20, 21, 22, 23, 24, 25, 26, 27, 28, 29:
			v, there := want[k]
			if got, ok := m.Get(at); got.S != v || ok != there {
				t.Fatalf("get %v: %q, %t; want %q, %t", k, got.S, ok, v, there)
			}
		}
	}
	entries := m.Entries()
	if len(entries) != len(want) {
		t.Fatalf("%d keys, want %d", len(entries), len(want))
	}
	var bytes int64
	for i := range entries {
		parts := entries[i].Key()
		k := key{parts[0].Signed(), parts[1].S}
		if entries[i].Value().S != want[k] {
			t.Errorf("%v: %q, want %q", k, entries[i].Value().S, want[k])
		}
		bytes += cost(entries[i].MapKey()) + int64(len(want[k]))
		if i > 0 && m.compareKeys(&entries[i-1], &entries[i]) >= 0 {
			t.Errorf("key %v is out of order", k)
		}
	}
	if m.Bytes() != bytes {
		t.Errorf("Bytes is %d, want %d", m.Bytes(), bytes)
	}
}

func TestSeriesKeepTheLastIntervals(t *testing.T) {
	for agg, want := range map[string]uint64{"": 2, "sum": 10, "avg": 3, "min": 2, "max": 5} {
		m := New(Spec{Value: &types.Type{Kind: types.TSeries}, Series: types.Int64, Interval: 10, Count: 3, Agg: agg})
		for i := range uint64(5) {
			for _, n := range []uint64{3, 5, 2} {
				m.AddSeries(Key{}, n, 100+10*i)
			}
		}
		e, _ := m.Entry(Key{})
		points := e.Points()
		if len(points) != 3 || points[0] != (Point{12, want}) || points[2] != (Point{14, want}) || m.LastEpoch() != 14 {
			t.Errorf("%q: %v", agg, points)
		}
	}
}

func TestMembersOfStructs(t *testing.T) {
	b := "\x01\xff\x02\x00\x00\x00\x00\x80\xfeabc\x00def"
	for _, c := range []struct {
		f    types.Field
		want Value
	}{
		{types.Field{Type: types.Int8, Offset: 1}, Signed(-1)},
		{types.Field{Type: types.Uint8, Offset: 1}, Int(255)},
		{types.Field{Type: types.Int64}, Signed(-0x7ffffffffffd00ff)},
		{types.Field{Type: types.Int8, Offset: 8, Bits: 3, BitOffset: 1}, Signed(-1)},
		{types.Field{Type: types.Uint8, Offset: 8, Bits: 3}, Int(6)},
		{types.Field{Type: &types.Type{Kind: types.String, Size: 8}, Offset: 9}, String("abc")},
		{types.Field{Type: types.Int64, Offset: 100}, Int(0)},
	} {
		got := LoadField(c.f, b)
		if got.N != c.want.N || got.S != c.want.S {
			t.Errorf("%+v: %x %q, want %x %q", c.f, got.N, got.S, c.want.N, c.want.S)
		}
	}
}
