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

// Variable is the environment variable that names the cache's directory. If it is not
// set, the cache is ringtap/programs in the user's cache directory.
const Variable = "RINGTAP_PROGRAMS"

// marker is the file of an entry that is written last. It lists the other files, so
// that Try detects an entry that was not finished or has changed since.
const marker = ".done"

// Try returns the directory in which the recipe's commands have run, in this test or
// earlier. The error is a *MissingError if a tool is missing. If a command fails, Try
// removes the directory. If there can be no cache, the directory is the test's own.
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
			_ = os.Chtimes(filepath.Join(dir, marker), used, used) // fails for another user's entry, which is usable, too
			return dir, nil
		}
	}
	if err := r.fill(dir, lock); err != nil {
		_ = os.RemoveAll(dir)
		return "", err
	}
	return dir, nil
}

// fill empties an entry's directory and runs the recipe in it.
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
	// A compiler goes on if its test is killed. Then it still holds the lock.
	if err := r.run(dir, []*os.File{lock}); err != nil {
		return err
	}
	list, err := listing(dir)
	if err != nil {
		return err
	}
	return os.WriteFile(filepath.Join(dir, marker), []byte(list), 0o644)
}

// listing returns the files of an entry, except the marker, with their sizes and
// modification times.
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

// lockEntry makes the directory if it is missing, and locks it exclusively until
// the returned file is closed.
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

// stillAt reports whether path still leads to the open file. The previous holder of the
// lock may have removed it.
func stillAt(f *os.File, path string) bool {
	open, err := f.Stat()
	if err != nil {
		return false
	}
	now, err := os.Stat(path)
	return err == nil && os.SameFile(open, now)
}

// cacheDir makes the cache's directory and returns its path without symbolic links, as
// the kernel shows the paths of running programs.
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

// key returns the name of the recipe's entry: a hash of all that its files depend on.
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
