package library

import "testing"

func TestNamesAreComparedWholeThenToTheEndingThenToTheDot(t *testing.T) {
	tests := []struct {
		name, typed string
		want        likeness
	}{
		{"libssl.so.3", "libssl.so.3", exact},
		{"libssl.so.3", "libssl", toTheEnding},
		{"libssl.so.3", "libssl.so", toTheEnding},
		{"libssl.so", "libssl", toTheEnding},
		{"libssl.so.3", "libss", unlike},
		{"libssl.so.3", "ssl", unlike},
		{"libstdc++.so.6", "libstdc++", toTheEnding},
		{"libpython3.11.so.1.0", "libpython3.11", toTheEnding},
		{"libpython3.11.so.1.0", "libpython3", toTheDot},
		{"libglib-2.0.so.0", "libglib-2", toTheDot},
		{"libglib-2.0.so.0", "libglib", unlike},
		{"libc.musl-x86_64.so.1", "libc", toTheDot},
		{"python3.11", "python3", toTheDot},
		{"bash", "bash", exact},
		{"", "libc", unlike},
		{".so", "", toTheDot},
	}
	for _, test := range tests {
		if got := compare(test.name, test.typed); got != test.want {
			t.Errorf("%q, typed %q: %d; want %d", test.name, test.typed, got, test.want)
		}
	}
}

func TestDistanceCountsEdits(t *testing.T) {
	tests := []struct {
		a, b string
		want int
	}{
		{"", "", 0}, {"bash", "bash", 0}, {"bash", "bas", 1}, {"bash", "dash", 1}, {"bash", "bashh", 1},
		{"libc", "libz", 1}, {"lbic", "libc", 2}, {"kitten", "sitting", 3}, {"", "ab", 2},
	}
	for _, test := range tests {
		if got := distance(test.a, test.b, 9); got != test.want {
			t.Errorf("%q to %q: %d; want %d", test.a, test.b, got, test.want)
		}
		if got := distance(test.b, test.a, 9); got != test.want {
			t.Errorf("%q to %q: %d; want %d", test.b, test.a, got, test.want)
		}
	}
	if got := distance("a", "a long name", 2); got <= 2 {
		t.Errorf("far names are %d apart", got)
	}
}
