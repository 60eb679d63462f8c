package process

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"sync"
	"testing"

	"github.com/ringtap/ringtap/internal/host/openfile"
)

// holdFile enters a file of a directory into a set.
func holdFile(t *testing.T, set *fileSet, dir, name string) (*file, error) {
	t.Helper()
	fd, st, err := openfile.Beneath(dir, name, openfile.NoLink)
	must(t, err)
	return set.add(fd, &st, &file{name: name, roots: []string{dir}})
}

func text(f *file) string {
	buf := make([]byte, 16)
	n, err := f.ReadAt(buf, 0)
	if n == 0 {
		return err.Error()
	}
	return string(buf[:n])
}

func TestFilesAreOpenedAgainWhenTheBudgetIsSmall(t *testing.T) {
	dir := t.TempDir()
	set := &fileSet{limit: 2}
	var files []*file
	for i := range 5 {
		name := fmt.Sprint("f", i)
		must(t, os.WriteFile(filepath.Join(dir, name), []byte(name), 0o644))
		f, err := holdFile(t, set, dir, name)
		must(t, err)
		files = append(files, f)
	}
	for range 2 {
		for i, f := range files {
			if got := text(f); got != fmt.Sprint("f", i) {
				t.Errorf("file %d reads %q", i, got)
			}
			if set.count() > 2 {
				t.Fatalf("%d files are open; the limit is 2", set.count())
			}
		}
	}
	files[3].close()
	files[4].close()
	files[4].close()
	if set.count() != 0 {
		t.Errorf("%d files are open after all were closed", set.count())
	}
	set.closeAll()
	if _, err := files[0].ReadAt(make([]byte, 1), 0); err == nil {
		t.Error("a file was opened again after all were closed for good")
	}
}

func TestFilesAreNotReadAfterTheEnd(t *testing.T) {
	table := NewTable(Options{Host: Host{Proc: t.TempDir()}})
	defer table.Close()
	dir := t.TempDir()
	must(t, os.WriteFile(filepath.Join(dir, "file"), []byte("text"), 0o644))
	f, err := holdFile(t, table.files, dir, "file")
	must(t, err)
	if _, err := f.ReadAt(make([]byte, 4), 0); err != nil {
		t.Fatal(err)
	}
	table.EndReads()
	if n, err := f.ReadAt(make([]byte, 4), 0); n > 0 || !errors.Is(err, context.Canceled) {
		t.Errorf("ReadAt = %d, %v; want none, as of a context that is done", n, err)
	}
}

func TestAFileThatWasReplacedIsNotOpenedAgain(t *testing.T) {
	dir := t.TempDir()
	set := &fileSet{limit: 1}
	for _, name := range []string{"a", "b"} {
		must(t, os.WriteFile(filepath.Join(dir, name), []byte(name), 0o644))
	}
	a, err := holdFile(t, set, dir, "a")
	must(t, err)
	_, err = holdFile(t, set, dir, "b")
	must(t, err)
	must(t, os.Rename(filepath.Join(dir, "b"), filepath.Join(dir, "a")))
	if _, err := a.ReadAt(make([]byte, 1), 0); !errors.Is(err, errReplaced) {
		t.Errorf("ReadAt = %v; want replaced", err)
	}
	must(t, os.Remove(filepath.Join(dir, "a")))
	if _, err := a.ReadAt(make([]byte, 1), 0); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("ReadAt = %v; want not exist", err)
	}
}

func TestAFileThatLostItsNameKeepsItsPlace(t *testing.T) {
	dir := t.TempDir()
	set := &fileSet{limit: 1}
	for _, name := range []string{"gone", "here"} {
		must(t, os.WriteFile(filepath.Join(dir, name), []byte(name), 0o644))
	}
	gone, err := holdFile(t, set, dir, "gone")
	must(t, err)
	must(t, os.Remove(filepath.Join(dir, "gone")))
	if _, err := holdFile(t, set, dir, "here"); !errors.Is(err, errBudget) {
		t.Errorf("a second file: %v; want that the budget is spent", err)
	}
	if got := text(gone); got != "gone" {
		t.Errorf("the deleted file reads %q", got)
	}
}

func TestFilesMayBeReadByManyWhileTheyMakeRoom(t *testing.T) {
	dir := t.TempDir()
	set := &fileSet{limit: 1}
	var group sync.WaitGroup
	for i := range 4 {
		name := fmt.Sprint("f", i)
		must(t, os.WriteFile(filepath.Join(dir, name), []byte(name), 0o644))
		f, err := holdFile(t, set, dir, name)
		must(t, err)
		group.Go(func() {
			for range 200 {
				if got := text(f); got != name {
					t.Errorf("%s reads %q", name, got)
					return
				}
			}
		})
	}
	group.Wait()
}
