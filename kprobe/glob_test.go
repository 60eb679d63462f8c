package kprobe

import (
	"path"
	"strings"
	"testing"
)

func TestAPatternStandsForWholeNames(t *testing.T) {
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
		{"???", "abc", "ab abcd"},
	} {
		g := newGlob(test.pattern)
		for _, name := range strings.Fields(test.yes) {
			if !g.match([]byte(name)) {
				t.Errorf("%s does not stand for %s", test.pattern, name)
			}
		}
		for _, name := range strings.Fields(test.no) {
			if g.match([]byte(name)) {
				t.Errorf("%s stands for %s", test.pattern, name)
			}
		}
	}
}

// Package path has the same patterns but for its escapes, its separators and
// what it takes for an empty class.
func FuzzGlob(f *testing.F) {
	f.Add("a*b[c-e]?", "axxbdz")
	f.Add("[!a]*", "bcd")
	f.Add("*a*b*c", "aabbcc")
	f.Fuzz(func(t *testing.T, pattern, name string) {
		at := badGlob(pattern)
		if at >= 0 {
			if pattern[at] != '[' {
				t.Errorf("%q is wrong at %d", pattern, at)
			}
			return
		}
		for _, r := range pattern + name {
			if r == '\\' || r == '/' || r >= 0x80 {
				return
			}
		}
		// A first ] and a - at an end stand for themselves here.
		if strings.Contains(pattern, "[") && strings.ContainsAny(pattern, "]-") && strings.Trim(pattern, "abc*?") != "" {
			return
		}
		want, err := path.Match(pattern, name)
		if err != nil {
			return
		}
		g := newGlob(pattern)
		if got := g.match([]byte(name)); got != want {
			t.Errorf("%q stands for %q: %v; path.Match says %v", pattern, name, got, want)
		}
	})
}
