package buildid

import (
	"bytes"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/ringtap/ringtap/internal/testkit/compiled"
)

const (
	short = "0123456789abcdef0123456789abcdef012345" // wanted without the zero at its end
	dir   = ".build-id/01/23456789abcdef0123456789abcdef01234500"
)

// put copies a file to a path below root, and returns the path.
func put(t *testing.T, file, root, path string) string {
	t.Helper()
	to := filepath.Join(root, path)
	if err := os.MkdirAll(filepath.Dir(to), 0o755); err != nil {
		t.Fatal(err)
	}
	text, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(to, text, 0o755); err != nil {
		t.Fatal(err)
	}
	return to
}

// oneBit returns build ids that differ from id by one bit.
func oneBit(id []byte) (all [][]byte) {
	for _, i := range []int{0, len(id) / 2, len(id) - 1} {
		other := bytes.Clone(id)
		other[i] ^= 0x10
		all = append(all, other)
	}
	return all
}

// name returns the name of an open file, which it closes, and the error.
func name(f *os.File, err error) (string, error) {
	if err != nil {
		return "", err
	}
	return f.Name(), f.Close()
}

// notFound fails the test unless nothing was found for the reason others.
func notFound(t *testing.T, f *os.File, err error, others ...string) {
	t.Helper()
	var missing *NotFoundError
	if errors.As(err, &missing) && slices.Equal(missing.Others, others) {
		return
	}
	got, err := name(f, err)
	t.Errorf("found %q, error %v; want none because of %q", got, err, others)
}

func TestAnImageIsFoundInEveryPlaceByItsBuildIDOnly(t *testing.T) {
	file := program(t, "0x"+wanted)
	root := t.TempDir()
	files := Files{Symfs: root + "/symfs", Cache: root + "/cache", Debuginfod: root + "/debuginfod"}
	for _, place := range []string{
		"symfs" + root + "/bin/program",
		"symfs/" + dir,
		"symfs/" + dir + "/elf",
		"cache/" + dir + "/elf",
		"cache/" + dir + "/vdso",
		"cache/" + dir,
		"debuginfod/" + wanted + "/executable",
		"bin/program",
	} {
		path := put(t, file, root, place)
		for _, id := range []string{wanted, short} {
			got, err := name(files.Image(decode(t, id), root+"/bin/program"))
			if err != nil || got != path {
				t.Errorf("%s: found %q, %v", place, got, err)
			}
		}
		if strings.Contains(place, "bin/") {
			for _, id := range oneBit(decode(t, wanted)) {
				f, err := files.Image(id, root+"/bin/program")
				notFound(t, f, err, path+" has build id "+wanted)
			}
		}
		if err := os.RemoveAll(filepath.Join(root, strings.Split(place, "/")[0])); err != nil {
			t.Fatal(err)
		}
	}
	f, err := files.Image(decode(t, wanted), root+"/bin/program")
	notFound(t, f, err)
}

func TestAFileUnderTheNameOfAnotherBuildIDIsNotFound(t *testing.T) {
	other := program(t, "0x"+strings.Replace(wanted, "89", "88", 1))
	root := t.TempDir()
	files := Files{Symfs: root + "/symfs", Cache: root + "/cache", Debuginfod: root + "/debuginfod"}
	var others []string
	for _, place := range []string{
		"bin/program",
		"cache/" + dir + "/elf",
		"debuginfod/" + wanted + "/executable",
		"symfs/" + dir + "/elf",
	} {
		others = append(others, put(t, other, root, place)+" has build id "+strings.Replace(wanted, "89", "88", 1))
	}
	f, err := files.Image(decode(t, wanted), root+"/bin/program")
	notFound(t, f, err, others...)
}

func TestTheFileOfAnotherPlaceIsFoundIfTheFirstHasAnotherBuildID(t *testing.T) {
	root := t.TempDir()
	files := Files{Symfs: root + "/symfs", Cache: root + "/cache"}
	put(t, program(t, "0x01020304"), root, "symfs/bin/program")
	path := put(t, program(t, "0x"+wanted), root, "cache/"+dir+"/elf")
	if got, err := name(files.Image(decode(t, wanted), "/bin/program")); err != nil || got != path {
		t.Errorf("found %q, %v; want %s", got, err, path)
	}
}

func TestADebugFileIsFoundInEveryPlaceByItsBuildIDOnly(t *testing.T) {
	file := debugFile(t)
	root := t.TempDir()
	files := Files{Symfs: root + "/symfs", Cache: root + "/cache", Debuginfod: root + "/debuginfod"}
	for _, place := range []string{
		"symfs/usr/lib/debug/" + dir + ".debug",
		"symfs/" + dir + ".debug",
		"symfs/" + dir + "/debug",
		"cache/" + dir + "/debug",
		"debuginfod/" + wanted + "/debuginfo",
	} {
		path := put(t, file, root, place)
		if got, err := name(files.Debug(decode(t, wanted))); err != nil || got != path {
			t.Errorf("%s: found %q, %v", place, got, err)
		}
		put(t, program(t, "0x01020304"), root, place)
		f, err := files.Debug(decode(t, wanted))
		notFound(t, f, err, path+" has build id 01020304")
		if err := os.Remove(path); err != nil {
			t.Fatal(err)
		}
	}
}

func TestAnUnknownBuildIDFindsNothing(t *testing.T) {
	if _, err := name(Files{}.Image(nil, program(t, "0x"+wanted))); !errors.Is(err, ErrUnknown) {
		t.Errorf("%v; want ErrUnknown", err)
	}
	f, err := Files{}.Image([]byte{0}, program(t, "0x00"))
	notFound(t, f, err, program(t, "0x00")+" has build id 00")
}

func TestLinksDoNotLeadOutOfSymfs(t *testing.T) {
	root := t.TempDir()
	files := Files{Symfs: root + "/symfs"}
	put(t, program(t, "0x"+wanted), root, "outside/program")
	if err := os.MkdirAll(root+"/symfs/bin", 0o755); err != nil {
		t.Fatal(err)
	}
	for link, to := range map[string]string{
		"absolute": root + "/outside/program",
		"relative": "../../outside/program",
	} {
		if err := os.Symlink(to, root+"/symfs/bin/"+link); err != nil {
			t.Fatal(err)
		}
		if got, err := name(files.Image(decode(t, wanted), "/bin/"+link)); err == nil {
			t.Errorf("the %s link led to %s", link, got)
		}
		if got, err := name(files.Image(decode(t, wanted), "/bin/../../outside/program")); err == nil {
			t.Errorf("dots led to %s", got)
		}
	}
	// An absolute link is one of the recorded machine.
	path := put(t, program(t, "0x"+wanted), root, "symfs"+root+"/outside/program")
	got, err := name(files.Image(decode(t, wanted), "/bin/absolute"))
	if want := root + "/symfs/bin/absolute"; err != nil || got != want {
		t.Errorf("%q, %v; want %s, which is %s", got, err, want, path)
	}
}

func TestOtherThanRegularFilesAreNotOpened(t *testing.T) {
	root := t.TempDir()
	files := Files{Symfs: root, Cache: root}
	fifo := root + "/fifo"
	if err := unix.Mkfifo(fifo, 0o644); err != nil {
		t.Fatal(err)
	}
	f, err := files.Image(decode(t, wanted), fifo, "/dev/tty", root, "[vdso]", "", "//anon")
	notFound(t, f, err, "/dev/tty: not a regular file", fifo+": not a regular file")
}

func TestFilesThatAreNotELFAreNamed(t *testing.T) {
	none := compiled.Copy(t, program(t, "none"))
	root := t.TempDir()
	text := put(t, "files_test.go", root, dir)
	f, err := Files{Cache: root}.Image(decode(t, wanted), none)
	want := []string{none + ": no build id", text + ": not an ELF file"}
	slices.Sort(want)
	notFound(t, f, err, want...)
}

func TestTheKernelsSymbolsAreFoundByTheNameOfTheirDirectory(t *testing.T) {
	root := t.TempDir()
	files := Files{Cache: root}
	for _, place := range []string{"[kernel.kallsyms]/" + wanted + "/kallsyms", dir + "/kallsyms"} {
		path := put(t, "files_test.go", root, place)
		for _, id := range []string{wanted, short} {
			if got, err := name(files.Kallsyms(decode(t, id))); err != nil || got != path {
				t.Errorf("%s: %q, %v", place, got, err)
			}
		}
		for _, id := range oneBit(decode(t, wanted)) {
			f, err := files.Kallsyms(id)
			notFound(t, f, err)
		}
		if err := os.Remove(path); err != nil {
			t.Fatal(err)
		}
	}
}

func TestCachesAreWhereTheirProgramsPutThem(t *testing.T) {
	for _, test := range []struct {
		env               map[string]string
		cache, debuginfod string
	}{
		{map[string]string{"HOME": "/h"}, "/h/.debug", "/h/.cache/debuginfod_client"},
		{map[string]string{"HOME": "/h", "XDG_CACHE_HOME": "/x"}, "/h/.debug", "/x/debuginfod_client"},
		{map[string]string{"HOME": "/h", "XDG_CACHE_HOME": "/x", "DEBUGINFOD_CACHE_PATH": "/d"}, "/h/.debug", "/d"},
		{nil, "", ""},
	} {
		want := Files{Cache: test.cache, Debuginfod: test.debuginfod}
		if got := Default(func(name string) string { return test.env[name] }); got != want {
			t.Errorf("%v: %+v, want %+v", test.env, got, want)
		}
	}
}
