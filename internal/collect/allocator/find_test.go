package allocator

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"

	"github.com/ringtap/ringtap/internal/testkit/compiled"
	"github.com/ringtap/ringtap/internal/testkit/truth"
	"github.com/ringtap/ringtap/uprobe"
)

// names are the functions that were found in a file, each with the others at its
// place left out.
func names(p *Probes, path string) map[string]bool {
	all := make(map[string]bool)
	for _, probe := range p.All {
		if path == "" || probe.path == path {
			all[probe.Name] = true
		}
	}
	return all
}

// program builds a C program and returns its path, which is shared.
func program(t *testing.T, source string, flags ...string) string {
	t.Helper()
	command := append([]string{"gcc", "-w", "-o", "program", "program.c"}, flags...)
	return compiled.Program(t, map[string]string{"program.c": source}, command...)
}

func TestAProgramHasTheAllocatorOfItsLibrary(t *testing.T) {
	path := program(t, "int main() { free(malloc(3)); return 0; }")
	p, err := Find(Where{Command: []string{path}})
	if err != nil {
		t.Fatal(err)
	}
	defer p.Close()
	got := names(p, "")
	for _, name := range []string{"malloc", "calloc", "realloc", "posix_memalign", "mmap", "munmap", "mremap", "free"} {
		if !got[name] {
			t.Errorf("%s is not there: %v", name, got)
		}
	}
}

func TestAProgramMayHaveAnAllocatorOfItsOwn(t *testing.T) {
	// tc_malloc tells that operators new and delete do not go through malloc.
	const source = `
		static char memory[100];
		void *malloc(unsigned long n) { return memory; }
		void *tc_malloc(unsigned long n) { return memory + 1; }
		void *_Znwm(unsigned long n) { return memory + 2; }
		void *_rjem_mallocx(unsigned long n, int flags) { return memory + 3; }
		void free(void *p) { if (p) memory[0] = 1; }
		void cfree(void *p) __attribute__((alias("free")));
		namespaced_malloc() { return 0; }
		int main() { return 0; }`
	path := program(t, source, "-std=gnu89", "-fno-builtin")
	for _, throwing := range []bool{false, true} {
		p, err := Find(Where{Command: []string{path}, ThrowingNew: throwing})
		if err != nil {
			t.Fatal(err)
		}
		defer p.Close()
		got := names(p, path)
		want := map[string]bool{"malloc": true, "tc_malloc": true, "_rjem_mallocx": true, "free": true}
		if throwing {
			want["_Znwm"] = true
		}
		if fmt.Sprint(got) != fmt.Sprint(want) || slices.Contains(p.Unwatched, path) == throwing {
			t.Errorf("%v, want %v: each place once; %v are not watched", got, want, p.Unwatched)
		}
	}
}

func TestAProgramThatAnotherExecutesIsLookedAt(t *testing.T) {
	path := program(t, "int main() { free(malloc(3)); return 0; }", "-static")
	for _, command := range [][]string{{"sh", "-c", "cd /;exec " + path + " 2>&1"}, {"env", "A=B", path, "3"}} {
		p, err := Find(Where{Command: command})
		if err != nil {
			t.Fatal(err)
		}
		defer p.Close()
		if got := names(p, path); !got["malloc"] || !got["free"] {
			t.Errorf("%q: %v of %v", command, got, p.Files)
		}
	}
}

func TestLiveAProcessInAChrootHasAnAllocator(t *testing.T) {
	if os.Geteuid() != 0 {
		t.Skip("root: chroot(2)")
	}
	path := program(t, "int main() { free(malloc(3)); puts(\"\"); fflush(0); return getchar(); }", "-static")
	cmd := exec.Command("/" + filepath.Base(path))
	cmd.SysProcAttr = &syscall.SysProcAttr{Chroot: filepath.Dir(path)}
	wait(t, cmd)
	p, err := Find(Where{PIDs: []int{cmd.Process.Pid}})
	if err != nil {
		t.Fatal(err)
	}
	defer p.Close()
	if got := names(p, ""); !got["malloc"] || !got["free"] {
		t.Errorf("%v", got)
	}
}

func TestLiveTheAllocatorsOfProgramsThatRunAreTheSystems(t *testing.T) {
	if os.Geteuid() != 0 {
		t.Skip("root: other users' processes")
	}
	path := program(t, "int main() { free(malloc(3)); puts(\"\"); fflush(0); return getchar(); }", "-static")
	cmd := exec.Command(path)
	wait(t, cmd)
	p, err := Find(Where{})
	if err != nil {
		t.Fatal(err)
	}
	defer p.Close()
	if got := names(p, path); !got["malloc"] || !got["free"] {
		t.Errorf("%v of %v", got, p.Files)
	}
}

// wait starts a program and waits until it has written something; it ends when the
// test does.
func wait(t *testing.T, cmd *exec.Cmd) {
	t.Helper()
	input, output := truth.Start(t, cmd)
	t.Cleanup(func() {
		_ = input.Close()
		_ = cmd.Wait()
	})
	if _, err := output.Read(make([]byte, 1)); err != nil {
		t.Fatal(err)
	}
}

func TestWhyThereIsNoAllocator(t *testing.T) {
	stripped := program(t, "int main() { free(malloc(3)); return 0; }", "-static", "-s")
	_, err := Find(Where{Command: []string{stripped}})
	var none *NoneError
	var symbol *uprobe.SymbolError
	if !errors.As(err, &none) || !errors.As(err, &symbol) || !symbol.Stripped || !strings.Contains(err.Error(), "statically linked and stripped") {
		t.Errorf("%v", err)
	}
	if _, err := Find(Where{PIDs: []int{1 << 22}}); err == nil || !strings.Contains(err.Error(), "4194304") {
		t.Errorf("of no process: %v", err)
	}
}
