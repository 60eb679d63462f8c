package main

import (
	"context"
	"errors"
	"io"
	"os"
	"path/filepath"
	"testing"
)

func TestAThingIsMadeOnceAndAgainOnlyWhereANewerIsAskedFor(t *testing.T) {
	dir := t.TempDir()
	t.Setenv("RINGTAP_VM_CACHE", dir)
	made := 0
	get := func(fresh bool, version string, fail error) (string, error) {
		c, err := newCache(fresh, io.Discard)
		if err != nil {
			t.Fatal(err)
		}
		return c.get(t.Context(), "k", func(_ context.Context, work, to string) (string, error) {
			if c.has("k", version) {
				return version, errHave
			}
			made++
			return version, errors.Join(fail, os.WriteFile(filepath.Join(to, "vmlinuz"), []byte(version), 0o644))
		})
	}
	if err := os.Mkdir(filepath.Join(dir, ".new-k=abandoned"), 0o755); err != nil {
		t.Fatal(err)
	}
	for _, step := range []struct {
		fresh   bool
		version string
		fail    error
		want    string // "" for an error
		made    int
	}{
		{false, "1", errors.New("no network"), "", 1},
		{false, "1", nil, "1", 2},
		{false, "2", nil, "1", 2},
		{true, "1", nil, "1", 2},
		{true, "2", errors.New("no network"), "", 3},
		{false, "2", nil, "1", 3},
		{true, "2", nil, "2", 4},
		{false, "1", nil, "2", 4},
	} {
		path, err := get(step.fresh, step.version, step.fail)
		text, _ := os.ReadFile(filepath.Join(path, "vmlinuz"))
		if (err == nil) != (step.want != "") || err == nil && string(text) != step.want || made != step.made {
			t.Errorf("%+v: %s with %q, %v, made %d", step, path, text, err, made)
		}
	}
	if left, _ := filepath.Glob(filepath.Join(dir, ".new-*")); len(left) > 0 {
		t.Errorf("left behind: %q", left)
	}
	if all, _ := filepath.Glob(filepath.Join(dir, "k=*")); len(all) != 1 {
		t.Errorf("in the cache: %q", all)
	}
}
