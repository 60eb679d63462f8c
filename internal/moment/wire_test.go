package moment

import (
	"reflect"
	"slices"
	"testing"

	"github.com/ringtap/ringtap/callchain"
	"github.com/ringtap/ringtap/internal/interp"
)

// encoded is what keep hands over, without a helper.
func encoded(chains ...Chain) (data []byte) {
	for _, c := range chains {
		for _, word := range head(c.Runtime, c.Calls, c.End) {
			data = append8(data, word)
		}
		for i := range c.Calls {
			for _, word := range words(&c.Calls[i]) {
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

func TestWhatIsHandedOverIsRead(t *testing.T) {
	chains := []Chain{
		{Runtime: IDOf("CPython 3.12.1"), End: callchain.Complete, Calls: []interp.Call{{Code: 1, At: 2, Cookie: 3}, {Code: 4, At: 5, Entry: true}}},
		{Runtime: IDOf("Ruby 3.1.7"), End: callchain.Cut, Calls: []interp.Call{{Code: 1 << 63, Entry: true}}},
	}
	got, _, ok := parse(encoded(chains...))
	if !ok || !reflect.DeepEqual(got, chains) {
		t.Errorf("%+v %t, want %+v", got, ok, chains)
	}
	if got, _, ok := parse(nil); !ok || len(got) != 0 {
		t.Errorf("nothing is %+v %t", got, ok)
	}
}

func TestWhatIsCutShortIsNotRead(t *testing.T) {
	data := encoded(Chain{Runtime: 1, Calls: []interp.Call{{Code: 1}, {Code: 2}}})
	for n := 1; n < len(data); n++ {
		if got, _, ok := parse(data[:n]); ok {
			t.Errorf("%d of %d bytes are %+v", n, len(data), got)
		}
	}
}

func TestMessagesAreUnderstood(t *testing.T) {
	for _, want := range []news{{what: attachTo, pid: 1}, {what: topOf, pid: 1 << 21, addr: 1 << 47}, {what: overOf, pid: 3, addr: 1 << 46, to: 1 << 47}} {
		if got, ok := told(want.message()); got != want || !ok {
			t.Errorf("%+v %t, want %+v", got, ok, want)
		}
	}
	if _, ok := told([]byte{attachTo}); ok {
		t.Error("a message without a pid is one")
	}
}

func FuzzReadings(f *testing.F) {
	f.Add(encoded(Chain{Runtime: 1, Calls: []interp.Call{{Code: 1, Entry: true}}}))
	f.Fuzz(func(t *testing.T, data []byte) {
		chains, _, ok := parse(data)
		if !ok {
			return
		}
		again, _, ok := parse(encoded(chains...))
		if !ok || !slices.EqualFunc(chains, again, func(a, b Chain) bool { return reflect.DeepEqual(a, b) }) {
			t.Errorf("%+v is %+v when it is read again", chains, again)
		}
	})
}
