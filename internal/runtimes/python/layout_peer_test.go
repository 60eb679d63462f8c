package python

import (
	"debug/elf"
	"fmt"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/ringtap/ringtap/callchain"
	"github.com/ringtap/ringtap/internal/runtimes/interp"
	"github.com/ringtap/ringtap/internal/testkit/interptest"
)

// The table has what gdb reads in the debug information of the releases that are installed.
func TestPeerTheLayoutIsThatOfTheDebugInformation(t *testing.T) {
	gdb, err := exec.LookPath("gdb")
	if err != nil {
		t.Skip("gdb is not installed")
	}
	compared := 0
	for _, path := range pythons(t) {
		libs, _ := filepath.Glob(filepath.Join(filepath.Dir(path), "../lib/libpython3.*.so.1.0"))
		for _, lib := range libs {
			minor, err := strconv.Atoi(regexp.MustCompile(`3\.(\d+)`).FindStringSubmatch(filepath.Base(lib))[1])
			if err != nil || minor >= described || !hasDebugInformation(lib) {
				continue
			}
			compared++
			l := layoutOf(minor)
			want := map[string]uint64{
				"&((PyInterpreterState*)0)->next": l.interpNext,
				"&((PyThreadState*)0)->prev":      l.threadPrev, "&((PyThreadState*)0)->next": l.threadNext, "&((PyThreadState*)0)->thread_id": l.threadID,
				"&((PyCodeObject*)0)->co_firstlineno": l.codeFirst, "&((PyCodeObject*)0)->co_filename": l.codeFile,
				"&((PyObject*)0)->ob_type": l.kind, "&((PyVarObject*)0)->ob_size": l.bytesSize, "&((PyBytesObject*)0)->ob_sval": l.bytesValue,
				"&((PyASCIIObject*)0)->length": l.textLength, "&((PyASCIIObject*)0)->state": l.textState,
				"sizeof(PyASCIIObject)": l.ascii, "sizeof(PyCompactUnicodeObject)": l.ucs,
			}
			if minor >= 7 {
				want["&((_PyRuntimeState*)0)->interpreters.head"] = l.interpreters
			}
			if minor < locations {
				want["&((PyInterpreterState*)0)->tstate_head"] = l.interpThreads
				want["&((PyThreadState*)0)->frame"] = l.threadFrame
				want["&((PyFrameObject*)0)->f_back"] = l.frameBack
				want["&((PyFrameObject*)0)->f_code"] = l.frameCode
				want["&((PyFrameObject*)0)->f_lasti"] = l.frameLast
				want["&((PyCodeObject*)0)->co_name"] = l.codeName
			} else {
				want["&((PyInterpreterState*)0)->threads.head"] = l.interpThreads
				want["&((PyThreadState*)0)->cframe"] = l.threadCFrame
				want["&((PyThreadState*)0)->native_thread_id"] = l.threadNative
				want["&((_PyCFrame*)0)->current_frame"] = l.cframeFrame
				want["&((_PyInterpreterFrame*)0)->previous"] = l.frameBack
				want["&((_PyInterpreterFrame*)0)->f_code"] = l.frameCode
				want["&((_PyInterpreterFrame*)0)->prev_instr"] = l.frameLast
				want["&((_PyInterpreterFrame*)0)->owner"] = l.frameOwner
				want["&((PyCodeObject*)0)->co_qualname"] = l.codeName
				want["&((PyCodeObject*)0)->co_code_adaptive"] = l.codeBytes
			}
			if minor >= ranges {
				want["&((PyCodeObject*)0)->co_linetable"] = l.codeLines
			} else {
				want["&((PyCodeObject*)0)->co_lnotab"] = l.codeLines
			}
			if minor == locations {
				want["&((_PyInterpreterFrame*)0)->is_entry"] = l.frameEntry
			}
			for expression, offset := range gdbValues(t, gdb, lib, want) {
				if offset != want[expression] {
					t.Errorf("3.%d: %s is %d, by gdb %d", minor, expression, want[expression], offset)
				}
			}
		}
	}
	if compared == 0 {
		t.Skip("no CPython before 3.13 with debug information is installed")
	}
}

func hasDebugInformation(path string) bool {
	f, err := elf.Open(path)
	if err != nil {
		return false
	}
	defer f.Close()
	return f.Section(".debug_info") != nil
}

// gdbValues has gdb compute the keys.
func gdbValues(t *testing.T, gdb, lib string, keys map[string]uint64) map[string]uint64 {
	t.Helper()
	args := []string{"-batch", "-nx"}
	var order []string
	for key := range keys {
		order = append(order, key)
		args = append(args, "-ex", fmt.Sprintf(`printf "%d=%%lu\n", (unsigned long)(%s)`, len(order)-1, key))
	}
	out, err := exec.Command(gdb, append(args, lib)...).CombinedOutput()
	if err != nil {
		t.Fatalf("gdb: %v\n%s", err, out)
	}
	values := make(map[string]uint64)
	for _, m := range regexp.MustCompile(`(?m)^(\d+)=(\d+)$`).FindAllStringSubmatch(string(out), -1) {
		i, _ := strconv.Atoi(m[1])
		values[order[i]], _ = strconv.ParseUint(m[2], 10, 64)
	}
	if len(values) != len(keys) {
		t.Fatalf("gdb tells %d of %d:\n%s", len(values), len(keys), out)
	}
	return values
}

// The pieces of the loop that its jumps lead to are those that symbol tables name, but
// for some that have a few bytes, which end the program.
func TestPeerThePiecesOfTheLoopAreThoseOfTheSymbolTable(t *testing.T) {
	compared := 0
	for _, path := range pythons(t) {
		libs, _ := filepath.Glob(filepath.Join(filepath.Dir(path), "../lib/libpython3.*.so.1.0"))
		for _, file := range append(libs, path) {
			m := interptest.Module(t, file)
			f, err := elf.NewFile(m.Image.Reader)
			if err != nil {
				t.Fatal(err)
			}
			symbols, err := f.Symbols()
			if err != nil {
				continue
			}
			eval, ok := m.Symbol(loop)
			if !ok {
				continue
			}
			compared++
			want := []interp.Span{m.Span(eval)}
			for _, s := range symbols {
				if strings.HasPrefix(s.Name, loop+".") && s.Size > 16 {
					want = append(want, m.Span(interp.Symbol{Addr: s.Value, Size: s.Size}))
				}
			}
			if got := m.Pieces(eval, callchain.Host()); !slices.Equal(got, want) {
				t.Errorf("%s: pieces at %#x, want %#x", file, got, want)
			}
		}
	}
	if compared == 0 {
		t.Skip("no CPython with a symbol table is installed")
	}
}
