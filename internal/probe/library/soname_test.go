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
