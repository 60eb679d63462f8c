package library

import (
	"bytes"
	"errors"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/ringtap/ringtap/internal/fuzzing"
)

func TestEveryFormOfTheCacheIsRead(t *testing.T) {
	for _, form := range []struct {
		file   string
		levels string // "none", "unknown" or "known"
	}{{"old", "none"}, {"compat", "unknown"}, {"new", "known"}} {
		b, err := os.ReadFile("testdata/cache-" + form.file)
		must(t, err)
		got, err := ReadCache(b)
		must(t, err)
		want := []CacheEntry{
			{Soname: "libtwo.so.2", Path: "/opt/b/libtwo.so.2"},
			{Soname: "libtwo.so.1", Path: "/opt/a/libtwo.so.1"},
			{Soname: "libtwo.so.1", Path: "/opt/b/libtwo.so.1"},
			{Soname: "libone.so.1", Path: "/usr/lib/glibc-hwcaps/x86-64-v2/libone.so.1", Level: "x86-64-v2"},
			{Soname: "libone.so.1", Path: "/usr/lib/glibc-hwcaps/x86-64-v3/libone.so.1", Level: "x86-64-v3"},
			{Soname: "libone.so.1", Path: "/usr/lib/libone.so.1"},
		}
		for i := range want {
			want[i].Flags = cachedX8664
			if form.levels == "none" {
				want[i].Level = ""
			}
			if form.levels == "unknown" && i < len(got) && (got[i].Level == "") == (want[i].Level == "") {
				want[i].Level = got[i].Level
			}
		}
		if !slices.Equal(got, want) {
			t.Errorf("%s:\n got %+v\nwant %+v", form.file, got, want)
		}
	}
}

func TestACacheThatIsCutOffIsAnErrorOrShorter(t *testing.T) {
	for _, form := range []string{"old", "compat", "new"} {
		b, err := os.ReadFile("testdata/cache-" + form)
		must(t, err)
		for n := range b {
			entries, err := ReadCache(b[:n])
			if err != nil && !errors.Is(err, ErrCache) || len(entries) > 6 {
				t.Errorf("%s cut to %d bytes: %d entries, %v", form, n, len(entries), err)
			}
		}
	}
}

func FuzzReadCache(f *testing.F) {
	fuzzing.Bound(f)
	for _, form := range []string{"old", "compat", "new"} {
		b, err := os.ReadFile("testdata/cache-" + form)
		must(f, err)
		f.Add(b)
	}
	f.Fuzz(func(t *testing.T, b []byte) {
		entries, err := ReadCache(b)
		if err != nil && (!errors.Is(err, ErrCache) || entries != nil) {
			t.Errorf("%d entries, %v", len(entries), err)
		}
		if len(entries) > len(b)/oldEntry {
			t.Errorf("%d entries in %d bytes", len(entries), len(b))
		}
		for _, e := range entries {
			for _, s := range []string{e.Soname, e.Path, e.Level} {
				if strings.Contains(s, "\x00") || len(s) > maxString || s != unknownLevel && !bytes.Contains(b, []byte(s)) {
					t.Errorf("%q is no string of the cache", s)
				}
			}
		}
	})
}
