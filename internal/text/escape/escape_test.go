package escape

import (
	"strconv"
	"testing"
	"unicode/utf8"

	"github.com/ringtap/ringtap/internal/testkit/fuzzing"
)

func TestTextWritesOutWhatCanNotBeSeen(t *testing.T) {
	for _, tt := range []struct{ name, in, want string }{
		{"plain text stays", "std::map<int, char>::find", "std::map<int, char>::find"},
		{"letters of any script stay", "größe 函数 λ", "größe 函数 λ"},
		{"backslash stays", `C:\x1b`, `C:\x1b`},
		{"escape sequence", "\x1b[31mred", `\x1b[31mred`},
		{"line breaks and tabs", "a\nb\rc\td", `a\nb\rc\td`},
		{"C1 control", "\u009b31m", `\u009b31m`},
		{"right-to-left override", "\u202egpj.exe", `\u202egpj.exe`},
		{"isolates and marks", "\u2066\u200f\u061c", `\u2066\u200f\u061c`},
		{"zero-width and byte order mark", "a\u200bb\ufeff", `a\u200bb\ufeff`},
		{"line separators", "\u2028\u2029", `\u2028\u2029`},
		{"tag characters", "\U000e0041", `\U000e0041`},
		{"bytes that are not UTF-8", "a\xff\xc0b", `a\xff\xc0b`},
		{"delete and nul", "\x7f\x00", `\x7f\x00`},
		{"empty", "", ""},
	} {
		t.Run(tt.name, func(t *testing.T) {
			if got := Text(tt.in); got != tt.want {
				t.Errorf("Text(%q) = %q, want %q", tt.in, got, tt.want)
			}
		})
	}
}

func FuzzText(f *testing.F) {
	fuzzing.Bound(f)
	f.Add("\x1b]0;title\a\u202e\xff")
	f.Add("plain")
	f.Fuzz(func(t *testing.T, s string) {
		got := Text(s)
		if !utf8.ValidString(got) {
			t.Fatalf("Text(%q) = %q", s, got)
		}
		for _, r := range got {
			if !strconv.IsPrint(r) {
				t.Fatalf("Text(%q) = %q keeps %U", s, got, r)
			}
		}
		if again := Text(got); again != got {
			t.Fatalf("escaped twice %q is %q", got, again)
		}
	})
}
