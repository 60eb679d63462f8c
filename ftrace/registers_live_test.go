package ftrace

import (
	"debug/elf"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"testing"

	"golang.org/x/sys/unix"
)

const manyArgsSource = `
__attribute__((noinline,noipa)) long f(long a, int b, char c, const char *s, char **p, long g, long h, long i, short j, long k)
{ return a + b + c + *s + **p + g + h + i + j + k; }
int main(void) { char *p = "through a pointer"; return f(-1, -2, 3, "text", &p, 6, -7, 8, 9, 10) == 0; }
`

// buildFile compiles a C program and finds the file offset of a function.
func buildFile(t *testing.T, source, function string) (path string, offset uint64) {
	t.Helper()
	if _, err := exec.LookPath("gcc"); err != nil {
		t.Skip("gcc is not installed")
	}
	path = filepath.Join(t.TempDir(), "prog")
	if err := os.WriteFile(path+".c", []byte(source), 0o600); err != nil {
		t.Fatal(err)
	}
	if out, err := exec.Command("gcc", "-g", "-O2", "-o", path, path+".c").CombinedOutput(); err != nil {
		t.Fatalf("gcc: %v\n%s", err, out)
	}
	f, err := elf.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	symbols, err := f.Symbols()
	if err != nil {
		t.Fatal(err)
	}
	for _, s := range symbols {
		for _, p := range f.Progs {
			if s.Name == function && p.Type == elf.PT_LOAD && p.Vaddr <= s.Value && s.Value < p.Vaddr+p.Filesz {
				return path, s.Value - p.Vaddr + p.Off
			}
		}
	}
	t.Fatalf("%s has no function %s", path, function)
	return "", 0
}

// traceOnce runs the program with the event enabled in an instance of its own,
// and returns what the kernel printed behind the address.
func traceOnce(t *testing.T, tracefs *FS, group, event, program string) string {
	t.Helper()
	instance := filepath.Join(tracefs.Dir(), "instances", group+"_test")
	if err := os.Mkdir(instance, 0o700); err != nil {
		t.Fatal(err)
	}
	defer func() {
		if err := unix.Rmdir(instance); err != nil {
			t.Error(err)
		}
	}()
	enable := filepath.Join(instance, "events", group, event, "enable")
	if err := os.WriteFile(enable, []byte("1"), 0); err != nil {
		t.Fatal(err)
	}
	if out, err := exec.Command(program).CombinedOutput(); err != nil {
		t.Errorf("%v: %s", err, out)
	}
	if err := os.WriteFile(enable, []byte("0"), 0); err != nil {
		t.Fatal(err)
	}
	trace, err := os.ReadFile(filepath.Join(instance, "trace"))
	if err != nil {
		t.Fatal(err)
	}
	var lines []string
	for line := range strings.Lines(string(trace)) {
		if _, text, ok := strings.Cut(line, event+": ("); ok {
			_, text, _ = strings.Cut(text, ") ")
			lines = append(lines, strings.TrimSpace(text))
		}
	}
	return strings.Join(lines, "\n")
}

func TestLiveArgumentsHaveTheCallersValues(t *testing.T) {
	tracefs := withUprobes(t)
	path, offset := buildFile(t, manyArgsSource, "f")
	args, err := ParseFetchArgs("a=$arg1:s64 b=$arg2:s32 c=$arg3:u8 s=+0($arg4):string p=+0(+0($arg5)):string $arg6:u8 h=$arg7:s64 i=$arg8:u64 j=$arg9:s16 k=$arg10:u32")
	if err != nil {
		t.Fatal(err)
	}
	args, _, err = UserArgs(args, runtime.GOARCH, false)
	if err != nil {
		t.Fatal(err)
	}
	var words []string
	for _, arg := range args {
		words = append(words, arg.String())
	}
	group := newGroup(t, tracefs, "uprobe_events")
	d := Dynamic{Type: 'p', Event: "f", Place: fmt.Sprintf("%s:%#x", path, offset), Args: strings.Join(words, " ")}
	if _, err := group.Define(d); err != nil {
		t.Fatal(err)
	}
	const want = `a=-1 b=-2 c=3 s="text" p="through a pointer" arg6=6 h=-7 i=8 j=9 k=10`
	if got := traceOnce(t, tracefs, group.Name(), "f", path); got != want {
		t.Errorf("the kernel fetched %s; want %s", got, want)
	}
}

func TestLiveTheKernelKnowsTheRegisters(t *testing.T) {
	tracefs := withUprobes(t)
	group := newGroup(t, tracefs, "uprobe_events")
	known := registers(runtime.GOARCH)
	for _, r := range known.Registers {
		if err := kernelTakes(t, group, 'p', "x=%"+r.Name); err != nil {
			t.Errorf("%%%s: %v", r.Name, err)
		}
		for _, part := range r.Parts {
			if known.Register(part.Name) == nil && kernelTakes(t, group, 'p', "x=%"+part.Name) == nil {
				t.Errorf("the kernel knows %%%s: what for is it translated?", part.Name)
			}
		}
	}
}
