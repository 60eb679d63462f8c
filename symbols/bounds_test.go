package symbols

import (
	"debug/elf"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"

	"github.com/ringtap/ringtap/internal/testkit/compiled"
)

// frameRange is a record as readelf prints it: "… FDE cie=00000030 pc=0000000000001040..0000000000001066".
var frameRange = regexp.MustCompile(`FDE cie=\S+ pc=([0-9a-f]+)\.\.([0-9a-f]+)`)

func TestPeerBoundsAreThoseThatReadelfPrints(t *testing.T) {
	files := append(systemFiles(t), buildC(t), buildC(t, "-static"), buildC(t, "-no-pie"), buildC(t, "-s"))
	if m := openFile(t, files[len(files)-1], Options{}).Machine(); m == elf.EM_X86_64 {
		files = append(files, bare32(t))
	}
	for _, path := range files {
		t.Run(filepath.Base(path), func(t *testing.T) {
			reference, err := elf.Open(path)
			if err != nil {
				t.Fatal(err)
			}
			defer reference.Close()
			if reference.Section(".eh_frame_hdr") == nil {
				return // Go's programs have none
			}
			f := openFile(t, path, Options{})
			n := 0
			for _, fields := range frameRange.FindAllStringSubmatch(frames(t, path), -1) {
				begin, _ := strconv.ParseUint(fields[1], 16, 64)
				end, _ := strconv.ParseUint(fields[2], 16, 64)
				if begin == 0 || begin == end {
					continue // the linker has dropped the function
				}
				n++
				offset := offsetOf(reference, begin)
				for _, at := range []uint64{offset, offset + (end-begin)/2, offset + end - begin - 1} {
					start, size, ok := f.Bounds(at)
					if !ok || start != offset || size != end-begin {
						t.Errorf("%#x: a function of %#x bytes at %#x, %v; by readelf %#x bytes at %#x", at, size, start, ok, end-begin, offset)
					}
				}
			}
			if n == 0 {
				t.Error("readelf prints no function")
			}
			t.Logf("%d functions", n)
		})
	}
}

// frames is what readelf prints of the call frame information. It may print all of it and
// fail nevertheless.
func frames(t *testing.T, path string) string {
	t.Helper()
	if _, err := exec.LookPath("readelf"); err != nil {
		t.Skip("readelf is not installed")
	}
	out, _ := exec.Command("readelf", "--debug-dump=frames", "--wide", path).Output()
	return string(out)
}

func TestPeerBoundsOfAStrippedProgramAreThoseThatNmHadBefore(t *testing.T) {
	const source = `
#define F(n) __attribute__((noinline)) static int f##n(int x) { for (volatile int i = 0; i < x; i++); return x * n; }
F(1) F(2) F(3) F(4) F(5)
int main(int argc, char **argv) { return f1(argc) + f2(argc) + f3(argc) + f4(argc) + f5(argc); }
`
	path := compiled.Program(t, map[string]string{"statics.c": source}, "gcc", "-O2", "-o", "statics", "statics.c")
	stripped := compiled.Program(t, map[string]string{"statics.c": source}, "gcc", "-O2", "-s", "-o", "statics", "statics.c")
	reference, err := elf.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	defer reference.Close()
	f := openFile(t, stripped, Options{})
	n := 0
	for line := range strings.Lines(string(run(t, "nm", "-S", path))) {
		fields := strings.Fields(line)
		if len(fields) != 4 || len(fields[3]) != 2 || fields[3][0] != 'f' {
			continue
		}
		n++
		addr, _ := strconv.ParseUint(fields[0], 16, 64)
		want, _ := strconv.ParseUint(fields[1], 16, 64)
		offset := offsetOf(reference, addr)
		if symbol, ok := f.Lookup(offset); ok {
			t.Errorf("%s is still named %s", fields[3], symbol.Name)
		}
		for _, at := range []uint64{offset, offset + want - 1} {
			if start, size, ok := f.Bounds(at); !ok || start != offset || size != want {
				t.Errorf("%s: %#x bytes at %#x, %v; want %#x bytes at %#x", fields[3], size, start, ok, want, offset)
			}
		}
	}
	if n != 5 {
		t.Errorf("nm prints %d of 5 functions", n)
	}
}

// bare32 is a program for i386 that needs no library.
func bare32(t *testing.T) string {
	t.Helper()
	return compiled.Program(t, map[string]string{"bare32.c": "int f(int x) { return x + 1; }\nvoid _start(void) { f(1); for (;;); }\n"},
		"gcc", "-m32", "-O1", "-static", "-nostdlib", "-ffreestanding", "-Wl,--eh-frame-hdr", "-o", "bare32", "bare32.c")
}
