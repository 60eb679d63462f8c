package symbolize_test

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/ringtap/ringtap/callchain"
	"github.com/ringtap/ringtap/internal/profile"
	"github.com/ringtap/ringtap/internal/stack"
	"github.com/ringtap/ringtap/internal/stack/symbolize"
	"github.com/ringtap/ringtap/internal/testkit/compiled"
)

const cxxSource = `namespace ns {
template <typename T> struct box {
	__attribute__((noinline)) int open(int n) { return n * 3; }
};
}
int main(int argc, char **) { return ns::box<int>().open(argc); }
`

func TestNamesAreDemangledAndTheRawOnesKept(t *testing.T) {
	const raw = "_ZN2ns3boxIiE4openEi"
	path := build(t, "program.cc", cxxSource, "-O1")
	at := offsetOf(t, path, raw)
	p := symbolizer(t, symbolize.Options{}).Profile(set([]*stack.Image{fileImage(t, path)}, []callchain.Frame{{Object: 1, Offset: at + 1}}), nil)
	want := profile.Frame{Object: 1, Address: at + 1, Name: "ns::box<int>::open", RawName: raw, Offset: 1, Start: at}
	if diff := cmp.Diff(want, p.Frames[0]); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

// The division stands for the instruction that a sample falls on.
const inlineSource = `volatile int a = 7, b = 3;
static inline __attribute__((always_inline)) int inner(int n) {
	return n / b;
}
__attribute__((noinline)) int outer(void) {
	return inner(a);
}
int main(void) { return outer(); }
`

func TestLinesAreThereOnlyWhereTheyWereAskedFor(t *testing.T) {
	path := build(t, "program.c", inlineSource, "-O1", "-g")
	at := offsetOf(t, path, "outer")
	stacks := [][]callchain.Frame{}
	for i := range uint64(8) {
		stacks = append(stacks, []callchain.Frame{{Object: 1, Offset: at + i}})
	}
	for _, lines := range []bool{false, true} {
		p := symbolizer(t, symbolize.Options{Lines: lines}).Profile(set([]*stack.Image{fileImage(t, path)}, stacks...), nil)
		inlined := false
		for _, f := range p.Frames {
			if f.Name != "outer" {
				t.Errorf("the frame at %#x is of %q", f.Address, f.Name)
			}
			if !lines && f.Lines != nil {
				t.Errorf("lines that nobody asked for: %+v", f.Lines)
			}
			if n := len(f.Lines); n == 2 {
				inlined = true
				want := []profile.Line{
					{Function: "inner", File: f.Lines[0].File, Line: 3, Start: 2},
					{Function: "outer", File: f.Lines[0].File, Line: 6, Start: 5},
				}
				if diff := cmp.Diff(want, f.Lines); diff != "" || filepath.Base(f.Lines[0].File) != "program.c" {
					t.Errorf("lines of %s (-want +got):\n%s", f.Lines[0].File, diff)
				}
			}
		}
		if object := p.Objects[1]; inlined != lines || object.HasLines != lines || object.HasInlines != lines {
			t.Errorf("asked for lines: %t; inlined code found: %t, object %+v", lines, inlined, object)
		}
	}
}

// A debug file beside the program is found by the program's debug link, and is
// read only if it is a file.
func TestADebugFileMustBeAFile(t *testing.T) {
	if _, err := exec.LookPath("objcopy"); err != nil {
		t.Skip("objcopy is not installed")
	}
	path := compiled.Copy(t, build(t, "program.c", inlineSource, "-O1", "-Wl,--build-id=none"))
	at := offsetOf(t, path, "outer")
	objcopy := func(args ...string) {
		t.Helper()
		cmd := exec.Command("objcopy", args...)
		cmd.Dir = filepath.Dir(path)
		if output, err := cmd.CombinedOutput(); err != nil {
			t.Fatalf("%v: %v\n%s", cmd, err, output)
		}
	}
	objcopy("--only-keep-debug", "program", "program.debug")
	objcopy("--strip-all", "--add-gnu-debuglink=program.debug", "program")
	frame := func() profile.Frame {
		t.Helper()
		s := symbolizer(t, symbolize.Options{})
		return s.Profile(set([]*stack.Image{fileImage(t, path)}, []callchain.Frame{{Object: 1, Offset: at}}), nil).Frames[0]
	}
	if got := frame(); got.Name != "outer" {
		t.Errorf("with its debug file the function is called %q", got.Name)
	}
	if err := os.Remove(path + ".debug"); err != nil {
		t.Fatal(err)
	}
	if output, err := exec.Command("mkfifo", path+".debug").CombinedOutput(); err != nil {
		t.Fatalf("mkfifo: %v\n%s", err, output)
	}
	if got := frame(); !got.Unnamed { // and does not wait for a writer
		t.Errorf("with a pipe in its place the function is called %q", got.Name)
	}
}

func TestFunctionsOfAStrippedProgramAreOfTheirOwn(t *testing.T) {
	const source = `
__attribute__((noinline)) static int one(int x) { for (volatile int i = 0; i < x; i++); return x; }
__attribute__((noinline)) static int two(int x) { for (volatile int i = 0; i < x; i++); return x + 1; }
int main(int argc, char **argv) { return one(argc) + two(argc); }
`
	stripped := build(t, "statics.c", source, "-O2", "-s")
	full := build(t, "statics.c", source, "-O2")
	one, two := offsetOf(t, full, "one"), offsetOf(t, full, "two")
	p := symbolizer(t, symbolize.Options{}).Profile(set([]*stack.Image{fileImage(t, stripped)}, []callchain.Frame{
		{Object: 1, Offset: one}, {Object: 1, Return: true, Offset: one + 7}, {Object: 1, Offset: two + 3},
	}), nil)
	name := func(start uint64) string { return fmt.Sprintf("%s+%#x", filepath.Base(stripped), start) }
	want := []profile.Frame{
		{Object: 1, Address: one, Name: name(one), RawName: name(one), Start: one, Unnamed: true},
		{Object: 1, Address: one + 7, Return: true, Name: name(one), RawName: name(one), Offset: 8, Start: one, Unnamed: true},
		{Object: 1, Address: two + 3, Name: name(two), RawName: name(two), Offset: 3, Start: two, Unnamed: true},
	}
	if diff := cmp.Diff(want, p.Frames); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}
