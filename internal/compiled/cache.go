package compiled

import (
	"crypto/sha256"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"golang.org/x/sys/unix"
)

// Variable names the cache's directory in the environment. Without it the cache
// is ringtap/programs in the user's cache directory.
const Variable = "RINGTAP_PROGRAMS"

// marker is a file of an entry that is written last. It lists the others, so that
// an entry which was not finished, or has changed since, is found out.
const marker = ".done"

// Try returns the directory in which the recipe's commands have run, or what went
// wrong; a *MissingError where a tool is missing. Nothing is kept of commands that
// failed. Where no cache can be had the directory lives as long as the test.
func (r Recipe) Try(t testing.TB) (string, error) {
	t.Helper()
	key, err := r.key()
	if err != nil {
		return "", err
	}
	root, err := cacheDir()
	var dir string
	var lock *os.File
	if err == nil {
		sweep(root, limits)
		dir = filepath.Join(root, key)
		lock, err = lockEntry(dir)
	}
	if err != nil {
		t.Logf("there is no cache of programs: %v", err)
		dir := t.TempDir()
		return dir, r.Make(dir)
	}
	defer lock.Close()
	if done, err := os.ReadFile(filepath.Join(dir, marker)); err == nil {
		if now, err := listing(dir); err == nil && string(done) == now {
			used := time.Now()
			_ = os.Chtimes(filepath.Join(dir, marker), used, used) // another user's can't be marked, but it can be used
			return dir, nil
		}
	}
	if err := r.fill(dir, lock); err != nil {
		_ = os.RemoveAll(dir)
		return "", err
	}
	return dir, nil
}

// fill makes an entry whatever is there.
func (r Recipe) fill(dir string, lock *os.File) error {
	left, err := os.ReadDir(dir)
	if err != nil {
		return err
	}
	for _, e := range left {
		if err := os.RemoveAll(filepath.Join(dir, e.Name())); err != nil {
			return err
		}
	}
	// A compiler whose test was killed goes on; so does its lock.
	if err := r.run(dir, []*os.File{lock}); err != nil {
		return err
	}
	list, err := listing(dir)
	if err != nil {
		return err
	}
	return os.WriteFile(filepath.Join(dir, marker), []byte(list), 0o644)
}

// listing is the files of an entry, all but the marker, with their sizes and the
// times of their last changes.
func listing(dir string) (string, error) {
	var list strings.Builder
	err := filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() || d.Name() == marker {
			return err
		}
		info, err := d.Info()
		if err == nil {
			fmt.Fprintln(&list, path, info.Size(), info.ModTime().UnixNano())
		}
		return err
	})
	return list.String(), err
}

// lockEntry makes the directory where it is missing, and locks it for this
// process alone until the file is closed.
func lockEntry(dir string) (*os.File, error) {
	for {
		if err := os.Mkdir(dir, 0o755); err != nil && !os.IsExist(err) {
			return nil, err
		}
		f, err := os.Open(dir)
		if os.IsNotExist(err) {
			continue
		}
		if err != nil {
			return nil, err
		}
		for err = unix.EINTR; err == unix.EINTR; {
			err = unix.Flock(int(f.Fd()), unix.LOCK_EX)
		}
		if err == nil && stillAt(f, dir) {
			return f, nil
		}
		f.Close()
		if err != nil {
			return nil, fmt.Errorf("lock %s: %w", dir, err)
		}
	}
}

// stillAt tells whether the path is still that of the open file: who had the lock
// may have removed it.
func stillAt(f *os.File, path string) bool {
	open, err := f.Stat()
	if err != nil {
		return false
	}
	now, err := os.Stat(path)
	return err == nil && os.SameFile(open, now)
}

// cacheDir makes the cache's directory. There are no symbolic links in its name,
// as there are none in what the kernel says about a program that runs.
func cacheDir() (string, error) {
	dir := os.Getenv(Variable)
	if dir == "" {
		user, err := os.UserCacheDir()
		if err != nil {
			return "", err
		}
		dir = filepath.Join(user, "ringtap", "programs")
	}
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return "", err
	}
	dir, err := filepath.EvalSymlinks(dir)
	if err != nil {
		return "", err
	}
	return filepath.Abs(dir)
}

// key is the name of the recipe's entry: a hash of all that its files depend on.
func (r Recipe) key() (string, error) {
	h := sha256.New()
	fmt.Fprintf(h, "%q\n%q\n%q\n", r.Sources, r.Commands, r.Env)
	for _, entry := range slices.Sorted(slices.Values(os.Environ())) {
		if name, _, _ := strings.Cut(entry, "="); forCompilers(name) {
			fmt.Fprintf(h, "%q\n", entry)
		}
	}
	tools := []string{"as", "ld"} // which compilers run
	for _, command := range r.Commands {
		tools = append(tools, command[0])
	}
	if err := identify(h, tools); err != nil {
		return "", err
	}
	return fmt.Sprintf("%x", h.Sum(nil)), nil
}
