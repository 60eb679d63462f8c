package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"

	"golang.org/x/sys/unix"
)

// cache holds what was fetched and built, with a directory NAME=VERSION for each
// thing. A directory that exists is complete.
type cache struct {
	dir   string
	fresh bool // look for newer versions
	log   io.Writer
}

// newCache returns the cache in $RINGTAP_VM_CACHE or, if that is not set, in ringtap/vm in the
// user's cache directory.
func newCache(fresh bool, log io.Writer) (*cache, error) {
	dir := os.Getenv("RINGTAP_VM_CACHE")
	if dir == "" {
		base, err := os.UserCacheDir()
		if err != nil {
			return nil, err
		}
		dir = filepath.Join(base, "ringtap", "vm")
	}
	dir, err := filepath.Abs(dir)
	if err != nil {
		return nil, err
	}
	return &cache{dir: dir, fresh: fresh, log: log}, os.MkdirAll(dir, 0o755)
}

// get returns the directory of a thing. If it is missing, or c.fresh is set, get calls make.
// make fills the directory to and returns the version, or errHave if the cache has this
// version already. work is a directory for temporary files. get holds a lock, so a second
// process that asks for the same thing waits.
func (c *cache) get(ctx context.Context, name string, make func(ctx context.Context, work, to string) (version string, err error)) (string, error) {
	lock, err := os.OpenFile(filepath.Join(c.dir, name+".lock"), os.O_CREATE|os.O_RDWR, 0o644)
	if err != nil {
		return "", err
	}
	defer lock.Close()
	if err := unix.Flock(int(lock.Fd()), unix.LOCK_EX); err != nil {
		return "", err
	}
	prefix := filepath.Join(c.dir, name+"=")
	have, err := filepath.Glob(prefix + "*")
	if err != nil {
		return "", err
	}
	if len(have) > 0 && !c.fresh {
		return have[0], nil
	}
	// Killed runs left these. We hold the lock, so no other process is using them.
	abandoned, _ := filepath.Glob(filepath.Join(c.dir, ".new-"+name+"=*"))
	for _, dir := range abandoned {
		os.RemoveAll(dir)
	}
	work, err := os.MkdirTemp(c.dir, ".new-"+name+"=")
	if err != nil {
		return "", err
	}
	defer os.RemoveAll(work)
	to := filepath.Join(work, "to")
	if err := os.Mkdir(to, 0o755); err != nil {
		return "", err
	}
	fmt.Fprintf(c.log, "vm: %s: fetching\n", name)
	version, err := make(ctx, work, to)
	if errors.Is(err, errHave) {
		return prefix + version, nil
	}
	if err != nil {
		return "", fmt.Errorf("%s: %w", name, err)
	}
	path := prefix + version
	os.RemoveAll(path)
	if err := os.Rename(to, path); err != nil {
		return "", err
	}
	for _, old := range have {
		if old != path {
			os.RemoveAll(old)
		}
	}
	return path, nil
}

// errHave is what make returns with a version that the cache has already.
var errHave = errors.New("this version is there")

// has reports whether the cache has this version of a thing.
func (c *cache) has(name, version string) bool {
	_, err := os.Stat(filepath.Join(c.dir, name+"="+version))
	return err == nil
}
