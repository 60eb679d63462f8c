package atsample

import (
	"reflect"
	"slices"
	"testing"

	"github.com/ringtap/ringtap/callchain"
	"github.com/ringtap/ringtap/internal/runtimes/interp"
)

// encoded returns what keepChain sends for chains.
func encoded(chains ...Chain) (data []byte) {
	for _, c := range chains {
		for _, word := range headerWords(c.Runtime, c.Calls, c.End) {
			data = append8(data, word)
		}
		for i := range c.Calls {
			for _, word := range wordsOf(&c.Calls[i]) {
				data = append8(data, word)
			}
		}
	}
	return data
}

func append8(b []byte, word uint64) []byte {
	for i := range 8 {
		b = append(b, byte(word>>(8*i)))
	}
	return b
}

func TestChainsAreDecodedAsTheyWereEncoded(t *testing.T) {
	chains := []Chain{
		{Runtime: RuntimeID("CPython 3.12.1"), End: callchain.Complete, Calls: []interp.Call{{Code: 1, At: 2, Cookie: 3}, {Code: 4, At: 5, Entry: true}}},
		{Runtime: RuntimeID("Ruby 3.1.7"), End: callchain.Cut, Calls: []interp.Call{{Code: 1 << 63, Entry: true}}},
	}
	got, _, ok := decodeChains(encoded(chains...))
	if !ok || !reflect.DeepEqual(got, chains) {
		t.Errorf("%+v %t, want %+v", got, ok, chains)
	}
	if got, _, ok := decodeChains(nil); !ok || len(got) != 0 {
		t.Errorf("no data is %+v %t", got, ok)
	}
}

func TestTruncatedChainsAreNotDecoded(t *testing.T) {
	data := encoded(Chain{Runtime: 1, Calls: []interp.Call{{Code: 1}, {Code: 2}}})
	for n := 1; n < len(data); n++ {
		if got, _, ok := decodeChains(data[:n]); ok {
			t.Errorf("%d of %d bytes are decoded as %+v", n, len(data), got)
		}
	}
}

func FuzzReadings(f *testing.F) {
	f.Add(encoded(Chain{Runtime: 1, Calls: []interp.Call{{Code: 1, Entry: true}}}))
	f.Fuzz(func(t *testing.T, data []byte) {
		chains, _, ok := decodeChains(data)
		if !ok {
			return
		}
		again, _, ok := decodeChains(encoded(chains...))
		if !ok || !slices.EqualFunc(chains, again, func(a, b Chain) bool { return reflect.DeepEqual(a, b) }) {
			t.Errorf("%+v is %+v when it is decoded again", chains, again)
		}
	})
}
