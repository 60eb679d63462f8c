package library

import (
	"bytes"
	"errors"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/ringtap/ringtap/internal/testkit/fuzzing"
)

func TestEveryFormOfTheCacheIsRead(t *testing.T) {
	for _, form := range []struct {
		file   string
		levels string // "none", "unknown" or "known"
	}{{"old", "none"}, {"compat", "unknown"}, {"new", "known"}} {
		b, err := os.ReadFile("testdata/cache-" + form.file)
		must(t, err)
		got, err := readCache(b)
		must(t, err)
		want := []cacheEntry{
			{soname: "libtwo.so.2", path: "/opt/b/libtwo.so.2"},
			{soname: "libtwo.so.1", path: "/opt/a/libtwo.so.1"},
			{soname: "libtwo.so.1", path: "/opt/b/libtwo.so.1"},
			{soname: "libone.so.1", path: "/usr/lib/glibc-hwcaps/x86-64-v2/libone.so.1", level: "x86-64-v2"},
			{soname: "libone.so.1", path: "/usr/lib/glibc-hwcaps/x86-64-v3/libone.so.1", level: "x86-64-v3"},
			{soname: "libone.so.1", path: "/usr/lib/libone.so.1"},
		}
		for i := range want {
			want[i].flags = cachedX8664
			if form.levels == "none" {
				want[i].level = ""
			}
			if form.levels == "unknown" && i < len(got) && (got[i].level == "") == (want[i].level == "") {
				want[i].level = got[i].level
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
			entries, err := readCache(b[:n])
			if err != nil && !errors.Is(err, errCache) || len(entries) > 6 {
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
		entries, err := readCache(b)
		if err != nil && (!errors.Is(err, errCache) || entries != nil) {
			t.Errorf("%d entries, %v", len(entries), err)
		}
		if len(entries) > len(b)/oldEntry {
			t.Errorf("%d entries in %d bytes", len(entries), len(b))
		}
		for _, e := range entries {
			for _, s := range []string{e.soname, e.path, e.level} {
				if strings.Contains(s, "\x00") || len(s) > maxString || s != unknownLevel && !bytes.Contains(b, []byte(s)) {
					t.Errorf("%q is no string of the cache", s)
				}
			}
		}
	})
}
