package symbols

import (
	"bytes"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/ringtap/ringtap/internal/object/elfimage"
	"github.com/ringtap/ringtap/internal/testkit/compiled"
)

// inlineProgram has calls that are inlined when compiled with -O1 and more.
const inlineProgram = `int sink;
static inline __attribute__((always_inline)) int innermost(int x) {
	return x * sink; /* line 3 */
}
static inline __attribute__((always_inline)) int middle(int x) {
	return innermost(x) + 1; /* line 6 */
}
__attribute__((noinline)) int outermost(int x) {
	return middle(x) + x; /* line 9 */
}
int main(void) { return outermost(3); }
`

// wantInlined checks that some instruction of outermost is in innermost.
func wantInlined(t *testing.T, f *File) {
	t.Helper()
	want := []Line{
		{Function: "innermost", Line: 3, StartLine: 2},
		{Function: "middle", Line: 6, StartLine: 5},
		{Function: "outermost", Line: 9, StartLine: 8},
	}
	s := findSymbol(t, f, "outermost")
	var all [][]Line
	for off := s.Start; off < s.Start+s.Size; off++ {
		lines, err := f.Lines(off)
		if err != nil {
			t.Fatal(err)
		}
		for i := range lines {
			if filepath.Base(lines[i].File) != "inline.c" {
				t.Errorf("file %q", lines[i].File)
			}
			lines[i].File = ""
		}
		if slices.Equal(lines, want) {
			return
		}
		all = append(all, lines)
	}
	t.Errorf("no instruction has %v among %v", want, all)
}

func buildInline(t *testing.T, flags ...string) string {
	t.Helper()
	return buildSource(t, "gcc", "inline.c", inlineProgram, append([]string{"-O2", "-g"}, flags...)...)
}

func TestLinesOfDWARFNameInlinedCalls(t *testing.T) {
	for _, flags := range []string{
		"-gdwarf-5", "-gdwarf-4", "-gz=zlib", "-gz=zlib-gnu", "-gz=zstd", "-static", "-no-pie", "-m32",
	} {
		t.Run(flags, func(t *testing.T) {
			if !canCompile(t, flags) {
				t.Skipf("gcc does not take %s here", flags)
			}
			wantInlined(t, openFile(t, buildInline(t, flags), Options{}))
		})
	}
}

func TestLinesComeFromTheSeparateDebugFile(t *testing.T) {
	program := compiled.Copy(t, buildInline(t))
	dir := filepath.Dir(program)
	debug := filepath.Join(dir, "program.debug")
	run(t, "objcopy", "--only-keep-debug", program, debug)
	run(t, "strip", "--strip-debug", program)
	run(t, "objcopy", "--add-gnu-debuglink="+debug, program)
	f := openFile(t, program, Options{Path: "/program", Open: hostFiles(dir)})
	wantInlined(t, f)
	if err := f.Close(); err != nil {
		t.Error(err)
	}
}

func TestAFileWithoutLinesHasNone(t *testing.T) {
	f := openFile(t, buildC(t), Options{})
	if lines, err := f.Lines(findSymbol(t, f, "main").Start); err != nil || len(lines) > 0 {
		t.Errorf("got %v, %v", lines, err)
	}
}

func TestACompressedSectionMayNotGrowWithoutBound(t *testing.T) {
	path := buildInline(t, "-gz=zlib")
	b, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	f, err := Open(bytes.NewReader(b), int64(len(b)), Options{})
	if err != nil {
		t.Fatal(err)
	}
	s, ok := f.image.Section(".debug_info")
	if !ok {
		t.Fatal("no .debug_info")
	}
	f.image.Order.PutUint64(b[s.Offset+8:], 3<<30) // ch_size
	if _, err := f.Lines(findSymbol(t, f, "main").Start); err == nil || !strings.Contains(err.Error(), elfimage.ErrTooLarge.Error()) {
		t.Errorf("got %v, want %v", err, elfimage.ErrTooLarge)
	}
}

func TestAFileServesSeveralGoroutines(t *testing.T) {
	f := openFile(t, buildInline(t), Options{})
	want := findSymbol(t, openFile(t, f.image.Reader.(*os.File).Name(), Options{}), "outermost")
	var wait sync.WaitGroup
	for range 8 {
		wait.Go(func() {
			for range 100 {
				if s, ok := f.Lookup(want.Start); !ok || s != want {
					t.Errorf("Lookup = %v, %v, want %v", s, ok, want)
				}
				if lines, err := f.Lines(want.Start); err != nil || len(lines) == 0 {
					t.Errorf("Lines = %v, %v", lines, err)
				}
			}
		})
	}
	wait.Wait()
}
