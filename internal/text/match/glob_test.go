package match

import (
	"errors"
	"path"
	"strings"
	"testing"
)

func TestAPatternMatchesWholeNames(t *testing.T) {
	for _, test := range []struct{ pattern, yes, no string }{
		{"vfs_read", "vfs_read", "vfs_readv vfs_rea my_vfs_read"},
		{"vfs_*", "vfs_ vfs_read vfs_readv", "vfs my_vfs_read"},
		{"*_open", "_open vfs_open", "vfs_open2 openat"},
		{"*open*", "open vfs_open openat reopened", "opn"},
		{"a*b*c", "abc aXbYc abbcc abcc", "ab ac acb"},
		{"a*a", "aa aba", "a"},
		{"vfs_?ead", "vfs_read vfs_lead", "vfs_ead vfs_rread"},
		{"vfs_[rw]*", "vfs_read vfs_write", "vfs_open vfs_"},
		{"t[0-9]", "t0 t9", "ta t t10"},
		{"t[!0-9]", "ta t_", "t0 t"},
		{"t[^0-9]", "ta", "t5"},
		{"t[]]", "t]", "t["},
		{"t[a-]", "ta t-", "tb"},
		{"*", "a abc", ""},
		{"???", "abc grö ★★★", "ab abcd"},
		{"[ä-ü]*", "ä über", "a abc"},
		{"net/http.*", "net/http.Get net/http.(*Client).Do", "net/httptest.New"},
		{"*.ServeHTTP", "net/http.(*conn).ServeHTTP a/b/c.ServeHTTP", "ServeHTTP"},
		{`\*a\?`, "*a?", "xa? *ab"},
		{`operator\[\]*`, "operator[] operator[](int)", "operator"},
		{`[\]x]`, "] x", `\`},
		{`a\b*`, "ab abc", `a\b`},
	} {
		g, err := ParseGlob(test.pattern)
		if err != nil {
			t.Errorf("%s: %v", test.pattern, err)
		}
		for _, name := range strings.Fields(test.yes) {
			if !g.Match(name) || !g.MatchBytes([]byte(name)) {
				t.Errorf("%s does not match %s", test.pattern, name)
			}
		}
		for _, name := range strings.Fields(test.no) {
			if g.Match(name) || g.MatchBytes([]byte(name)) {
				t.Errorf("%s matches %s", test.pattern, name)
			}
		}
	}
}

func TestTheErrorOfAPatternPointsAtWhatIsWrong(t *testing.T) {
	for pattern, want := range map[string]int{
		"a[b": 1, "[": 0, "[]": 0, "[!]": 0, "a*[a-": 2, `a\`: 1, `[a\`: 0, "[a]b[c": 4, `\[a`: -1, "a]": -1, "": -1,
	} {
		_, err := ParseGlob(pattern)
		var wrong *GlobError
		switch {
		case want < 0 && err != nil:
			t.Errorf("%q: %v", pattern, err)
		case want >= 0 && (!errors.As(err, &wrong) || wrong.Pos != want || err.Error() == ""):
			t.Errorf("%q: %v at %+v, want %d", pattern, err, wrong, want)
		}
	}
}

func TestMatchingDoesNotAllocate(t *testing.T) {
	name := strings.Repeat("subsystem_", 10) + "do_the_thing"
	buffer := []byte(name)
	for _, pattern := range []string{name, "subsystem_*", "*_thing", "*do*the*", "*[d-t]o_???_thing"} {
		g, err := ParseGlob(pattern)
		if err != nil {
			t.Fatal(err)
		}
		if n := testing.AllocsPerRun(100, func() {
			if !g.Match(name) || !g.MatchBytes(buffer) {
				t.Errorf("%s does not match", pattern)
			}
		}); n != 0 {
			t.Errorf("%s: %v allocations", pattern, n)
		}
	}
}

func BenchmarkMatchBytes(b *testing.B) {
	name := []byte("subsystem_17_do_the_thing_17")
	for _, pattern := range []string{"subsystem_17_*", "*_thing_7*", "*_do_*_18", "sub*do*the*18*", string(name)} {
		b.Run(pattern, func(b *testing.B) {
			g, err := ParseGlob(pattern)
			if err != nil {
				b.Fatal(err)
			}
			b.ReportAllocs()
			for b.Loop() {
				g.MatchBytes(name)
			}
		})
	}
}

// Package path has the same patterns but for its separators, its names for what
// is not in a set and what it takes for an empty one.
func FuzzGlob(f *testing.F) {
	f.Add("a*b[c-e]?", "axxbdz")
	f.Add("[!a]*", "bcd")
	f.Add("*a*b*c", "aabbcc")
	f.Add(`\**\\`, `*a\`)
	f.Add("?ö*", "äöü")
	f.Fuzz(func(t *testing.T, pattern, name string) {
		g, err := ParseGlob(pattern)
		var wrong *GlobError
		if errors.As(err, &wrong) && pattern[wrong.Pos] != '[' && pattern[wrong.Pos] != '\\' {
			t.Errorf("%q is wrong at %d", pattern, wrong.Pos)
		}
		if err != nil || strings.Contains(pattern, "[!") {
			return
		}
		// Slashes separate nothing here.
		noSlashes := strings.NewReplacer("/", "\x00")
		want, err := path.Match(noSlashes.Replace(pattern), noSlashes.Replace(name))
		if err != nil {
			return
		}
		if got := g.Match(name); got != want {
			t.Errorf("%q matches %q: %v; path.Match says %v", pattern, name, got, want)
		}
	})
}
