package eval

import (
	"slices"
	"testing"

	"github.com/ringtap/ringtap/internal/script/check"
)

func TestValuesThatWereReadLateAreMarked(t *testing.T) {
	const program = `BEGIN { @p = (uint64)0x1000; @s = str(@p); $s = str(@p); $n = *(uint32 *)@p; $m = $n + 1; $n = 5;
 printf("%s|%-4s|%4s|%d|%d|%x|%s|%d\n", str(@p), $s, @s, $m, $n, *(uint8 *)@p, "a", @p);
 print(str(@p)); print((1, str(@p))); print(*(uint8 *)@p == 0x61);
 @k[str(@p)] = count(); @n = *(uint8 *)@p; @h = hist(*(uint8 *)@p); @plain = 1; }`
	for _, test := range []struct {
		late bool
		want string
	}{
		{false, "ab|ab  |  ab|25186|5|61|a|4096\nab\n(1, ab)\ntrue\n"},
		{true, "~ab|~ab | ~ab|~25186|5|~61|a|4096\n~ab\n(1, ~ab)\n~true\n"},
	} {
		m, _, out, host := machine(t, program, check.Current)
		host.memory, host.late = map[uint64]string{0x1000: "ab\x00\x00"}, test.late
		m.Hit(0, &Hit{})
		if out.String() != test.want {
			t.Errorf("late %v: %q, want %q", test.late, out, test.want)
		}
		var counts []uint64
		for i, of := range m.Maps {
			if m.Late[i] > 0 {
				counts = append(counts, m.Late[i])
			}
			if of.Name == "@plain" && m.Late[i] > 0 {
				t.Error("a constant is counted")
			}
		}
		if want := map[bool][]uint64{true: {1, 1, 1}}[test.late]; !slices.Equal(counts, want) {
			t.Errorf("late %v: %d counted, want %d", test.late, counts, want)
		}
	}
}
