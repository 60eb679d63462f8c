package output

import (
	"bytes"
	"errors"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"golang.org/x/sys/unix"
)

func TestWriteFileKnowsEveryForm(t *testing.T) {
	for _, ending := range Forms() {
		path := filepath.Join(t.TempDir(), "profile"+ending)
		if err := CheckPath(path); err != nil {
			t.Error(err)
		}
		p := sample()
		if err := WriteFile(path, p, FileOptions{Timeline: times(p)}); err != nil {
			t.Fatal(err)
		}
		if info, err := os.Stat(path); err != nil || info.Size() == 0 {
			t.Errorf("%s: %v, %v", ending, info, err)
		}
	}
}

func TestAPathIsCheckedAndNothingIsLeft(t *testing.T) {
	dir := t.TempDir()
	there, link := filepath.Join(dir, "there.json"), filepath.Join(dir, "link.json")
	if err := errors.Join(os.WriteFile(there, []byte("old"), 0o600), os.Symlink("there.json", link), os.Mkdir(filepath.Join(dir, "dir.json"), 0o700)); err != nil {
		t.Fatal(err)
	}
	for name, want := range map[string]error{
		"new.json": nil, "there.json": nil, "link.json": nil,
		"dir.json": unix.EISDIR, "missing/new.json": unix.ENOENT, "there.json/new.json": unix.ENOTDIR,
	} {
		path := filepath.Join(dir, name)
		if err := CheckPath(path); !errors.Is(err, want) || err != nil && !strings.Contains(err.Error(), path+":") {
			t.Errorf("%s: %v, want %v", name, err, want)
		}
		if err := WriteFile(path, sample(), FileOptions{}); !errors.Is(err, want) {
			t.Errorf("%s is then written: %v", name, err)
		}
		if name == "new.json" {
			os.Remove(path)
		}
	}
	left, err := os.ReadDir(dir)
	if err != nil || len(left) != 3 {
		t.Errorf("left are %v, %v", left, err)
	}
}

func TestEveryReportTellsWhatWasLost(t *testing.T) {
	p := sample()
	var summary, html, svg, js bytes.Buffer
	for _, err := range []error{
		WriteSummary(&summary, p, TableOptions{}),
		writeHTML(&html, p, FileOptions{}),
		writeSVG(&svg, p, FileOptions{}),
		writeJSON(&js, p, FileOptions{}),
	} {
		if err != nil {
			t.Fatal(err)
		}
	}
	for form, text := range map[string]string{
		"summary": summary.String(), "html": html.String(), "svg": svg.String(),
		"pprof": strings.Join(writePprof(t, p).Comments, "\n"),
	} {
		for _, words := range []string{"185 samples received", "3 lost", "2 stacks cut short", "1 stack came before ringtap read whole stacks of their process (50%)", "1 frame without a name", p.Notes[0]} {
			if !strings.Contains(text, words) {
				t.Errorf("%s does not tell %q", form, words)
			}
		}
	}
	if !strings.Contains(js.String(), `"received":185,"lost":3,`) || !strings.Contains(js.String(), p.Notes[0]) {
		t.Error("json does not tell what was lost")
	}
}

func TestWriteFileNamesTheFormsItKnows(t *testing.T) {
	for _, path := range []string{"profile", "profile.pdf", "profile.gz", "html", ""} {
		err := WriteFile(filepath.Join(t.TempDir(), path), sample(), FileOptions{})
		var form *FormError
		if !errors.As(err, &form) {
			t.Errorf("%q: error %v, want a *FormError", path, err)
			continue
		}
		for _, ending := range Forms() {
			if !strings.Contains(err.Error(), ending) {
				t.Errorf("%q: %v does not name %s", path, err, ending)
			}
		}
	}
}

func TestWriteFileReplacesInOneStep(t *testing.T) {
	dir := t.TempDir()
	path, link := filepath.Join(dir, "p.folded"), filepath.Join(dir, "link.folded")
	if err := os.WriteFile(path, []byte("old"), 0o640); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink("p.folded", link); err != nil {
		t.Fatal(err)
	}
	old, err := os.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	defer old.Close()
	if err := WriteFile(link, sample(), FileOptions{}); err != nil {
		t.Fatal(err)
	}
	if b := make([]byte, 10); true {
		if n, _ := old.Read(b); string(b[:n]) != "old" {
			t.Errorf("a reader of the old file sees %q", b[:n])
		}
	}
	if target, err := os.Readlink(link); err != nil || target != "p.folded" {
		t.Errorf("the link is %q now: %v", target, err)
	}
	if info, err := os.Stat(path); err != nil || info.Mode().Perm() != 0o640 || info.Size() < 10 {
		t.Errorf("the file is %v, %v", info, err)
	}
	checkEntries(t, dir, "link.folded", "p.folded")
}

func TestWriteFileThatFailsLeavesTheOldFile(t *testing.T) {
	dir := t.TempDir()
	path := filepath.Join(dir, "p.folded")
	if err := os.WriteFile(path, []byte("old"), 0o666); err != nil {
		t.Fatal(err)
	}
	p := sample()
	p.Rows[0].User = 99
	if err := WriteFile(path, p, FileOptions{}); err == nil || !strings.Contains(err.Error(), path) {
		t.Errorf("error %v, want one with the path", err)
	}
	if text, _ := os.ReadFile(path); string(text) != "old" {
		t.Errorf("the old file holds %q", text)
	}
	checkEntries(t, dir, "p.folded")
}

func TestWriteFileToADirectoryThatIsNotThere(t *testing.T) {
	path := filepath.Join(t.TempDir(), "none", "p.html")
	if err := WriteFile(path, sample(), FileOptions{}); !errors.Is(err, os.ErrNotExist) || !strings.Contains(err.Error(), path) {
		t.Errorf("error %v", err)
	}
}

func TestWriteFileWithoutUnnamedFiles(t *testing.T) {
	dir := t.TempDir()
	file, err := hidden(filepath.Join(dir, "p.json"), 0o666)
	if err != nil {
		t.Fatal(err)
	}
	if err := file.rename(filepath.Join(dir, "p.json")); err != nil {
		t.Fatal(err)
	}
	file.remove()
	checkEntries(t, dir, "p.json")
	file, err = hidden(filepath.Join(dir, "q.json"), 0o666)
	if err != nil {
		t.Fatal(err)
	}
	file.remove()
	checkEntries(t, dir, "p.json")
}

func TestWriteFileWritesIntoWhatIsNotAFile(t *testing.T) {
	dir := t.TempDir()
	full := filepath.Join(dir, "full.folded")
	if err := os.Symlink("/dev/full", full); err != nil {
		t.Fatal(err)
	}
	if err := WriteFile(full, sample(), FileOptions{}); !errors.Is(err, unix.ENOSPC) {
		t.Errorf("a full device gives %v", err)
	}
	pipe := filepath.Join(dir, "pipe.folded")
	if err := unix.Mkfifo(pipe, 0o666); err != nil {
		t.Fatal(err)
	}
	lines := make(chan int)
	go func() {
		defer close(lines)
		f, err := os.Open(pipe)
		if err != nil {
			return
		}
		defer f.Close()
		text, _ := io.ReadAll(f)
		lines <- bytes.Count(text, []byte("\n"))
	}()
	if err := WriteFile(pipe, sample(), FileOptions{}); err != nil {
		t.Fatal(err)
	}
	if n := <-lines; n != len(stackLines(sample(), 0, false)) {
		t.Errorf("%d lines came through the pipe", n)
	}
}

// TestLiveWriteFileOnAFullDisk mounts a small file system and fills it.
func TestLiveWriteFileOnAFullDisk(t *testing.T) {
	dir := t.TempDir()
	if err := unix.Mount("report-test", dir, "tmpfs", 0, "size=256k"); err != nil {
		t.Skipf("mount(2) of a tmpfs: %v", err)
	}
	defer unix.Unmount(dir, unix.MNT_DETACH)
	path := filepath.Join(dir, "p.folded")
	if err := os.WriteFile(path, []byte("old"), 0o666); err != nil {
		t.Fatal(err)
	}
	if err := WriteFile(path, forest(61, 3000), FileOptions{}); !errors.Is(err, unix.ENOSPC) {
		t.Errorf("a full disk gives %v", err)
	}
	if text, _ := os.ReadFile(path); string(text) != "old" {
		t.Errorf("the old file holds %.20q", text)
	}
	checkEntries(t, dir, "p.folded")
	var fs unix.Statfs_t
	if err := unix.Statfs(dir, &fs); err != nil {
		t.Fatal(err)
	}
	if fs.Bfree < fs.Blocks-1 {
		t.Errorf("%d of %d blocks are free: the half file is still there", fs.Bfree, fs.Blocks)
	}
}

func checkEntries(t *testing.T, dir string, want ...string) {
	t.Helper()
	entries, err := os.ReadDir(dir)
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	for _, e := range entries {
		got = append(got, e.Name())
	}
	if strings.Join(got, " ") != strings.Join(want, " ") {
		t.Errorf("the directory holds %q, want %q", got, want)
	}
}
