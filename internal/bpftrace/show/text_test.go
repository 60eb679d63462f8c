package show

import "testing"

func TestBytesAsTextAreSafeToShow(t *testing.T) {
	for bytes, want := range map[string]string{
		"one\ttwo\r\nthree\n": "one\ttwo\nthree\n",
		"\x1b[2J\x00\xff é":   `\x1b[2J\x00\xff é`,
		"no\rreturn":          `no\rreturn`,
		"":                    "",
	} {
		if got := string(appendLines(nil, bytes)); got != want {
			t.Errorf("%q: %q, want %q", bytes, got, want)
		}
	}
}

func TestBytesAsHexadecimalLines(t *testing.T) {
	const want = "000102030405060708090a0b0c0d0e0f\n10ff"
	if got := string(appendHexLines(nil, "\x00\x01\x02\x03\x04\x05\x06\x07\x08\x09\x0a\x0b\x0c\x0d\x0e\x0f\x10\xff")); got != want {
		t.Errorf("%q, want %q", got, want)
	}
}
