package eval

import (
	"slices"
	"testing"

	"github.com/ringtap/ringtap/internal/bpftrace/check"
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

func TestMapsKeepTheMarksOfTheirKeysAndNumbers(t *testing.T) {
	for _, test := range []struct{ name, text, exact, late string }{
		{"a key", `@[str(@p)] = count(); print(@);`, "@[ab]: 1\n", "@[~ab]: 1\n"},
		{"a key of several parts", `@[1, str(@p)] = 5; print(@);`, "@[1, ab]: 5\n", "@[~1, ab]: 5\n"},
		{"a key of ++", `@[*(uint8 *)@p]++; print(@);`, "@[97]: 1\n", "@[~97]: 1\n"},
		{"a key that was deleted", `@[str(@p)] = 1; delete(@, str(@p)); @["ab"] = 1; print(@);`, "@[ab]: 1\n", "@[ab]: 1\n"},
		{"a number", `@ = *(uint8 *)@p; print(@);`, "@: 97\n", "@: ~97\n"},
		{"a number that was set again", `@ = *(uint8 *)@p; @ = 1; print(@);`, "@: 1\n", "@: 1\n"},
		{"a sum", `@ = sum(*(uint8 *)@p); @ = sum(1); print(@);`, "@: 98\n", "@: ~98\n"},
		{"a sum by +=", `@ += *(uint8 *)@p; @ += 1; @++; print(@); printf("%d\n", @ + 1);`, "@: 99\n100\n", "@: ~99\n~100\n"},
		{"stats", `@ = stats(*(uint8 *)@p); print(@);`, "@: { .count = 1, .average = 97, .total = 97 }\n", "@: ~{ .count = 1, .average = 97, .total = 97 }\n"},
		{"one of two keys", `@["x"] = 1; @["y"] = *(uint8 *)@p; print(@);`, "@[x]: 1\n@[y]: 97\n", "@[x]: 1\n@[y]: ~97\n"},
		{"in a loop over a map", `@[str(@p)] = *(uint8 *)@p; for ($kv : @) { printf("%s %d\n", $kv.0, $kv.1); }`, "ab 97\n", "~ab ~97\n"},
		{"a variable that a loop makes late", `$a = 1; $b = 1; $i = 0; while ($i < 2) { $a = $b; $b = *(uint8 *)@p; $i++; } printf("%d\n", $a);`, "97\n", "~97\n"},
	} {
		for late, want := range map[bool]string{false: test.exact, true: test.late} {
			m, _, out, host := machine(t, `BEGIN { @p = (uint64)0x1000; `+test.text+` }`, check.Current)
			host.memory, host.late = map[uint64]string{0x1000: "ab\x00\x00"}, late
			m.Hit(0, &Hit{})
			if out.String() != want {
				t.Errorf("%s, late %v: %q, want %q", test.name, late, out, want)
			}
		}
	}
}
