package symbols

import (
	"errors"
	"fmt"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/ringtap/ringtap/internal/testkit/compiled"
)

// linesProgram has lines with loops, lines inlined in several places, and
// lines without code.
const linesProgram = `#include <stdio.h>
#include <stdlib.h>
static inline __attribute__((always_inline)) int inlined(int x) {
	int y = x * 7;
	if (y > 100)
		puts("big");
	return y;
}

// Nothing is here.
int loop(int a, const char *s) {
	for (int i = 0; i < a; i++)
		printf("%s\n", s);
	if (a == 9) abort();
	a += inlined(a);
	return inlined(a + 2);
}
int main(int argc, char **argv) {
	return loop(argc, argv[0]) + inlined(argc);
}
`

func buildLines(t testing.TB, flags ...string) string {
	t.Helper()
	return buildSource(t, "gcc", "lines.c", linesProgram, flags...)
}

// statementRows returns what gdb has for the lines of a source file: the
// addresses of each line where it would stop.
func statementRows(t testing.TB, path, source string) map[int][]uint64 {
	t.Helper()
	row := regexp.MustCompile(`(?m)^\d+ +(\d+) +0x([0-9a-f]+) Y`)
	rows := map[int][]uint64{}
	for _, m := range row.FindAllStringSubmatch(string(run(t, "gdb", "-batch", "-nx", "-ex", "maint info line-table "+source, path)), -1) {
		line, _ := strconv.Atoi(m[1])
		addr, _ := strconv.ParseUint(m[2], 16, 64)
		rows[line] = append(rows[line], addr)
	}
	return rows
}

// chain is the functions around an address, inlined ones first, without those
// that are inlined at the line itself.
func chain(t testing.TB, f *File, offset uint64, line int) string {
	t.Helper()
	lines, err := f.Lines(offset)
	if err != nil {
		t.Fatal(err)
	}
	var names []string
	for _, l := range lines {
		if l.Line == line {
			names = nil
		}
		if len(names) > 0 { // where the copy was inlined
			names = append(names, fmt.Sprint(l.Line))
		}
		names = append(names, l.Function)
	}
	return strings.Join(names, " ")
}

func TestPeerPlacesOfALineAreWhereGdbStops(t *testing.T) {
	for _, flags := range [][]string{
		{"-g", "-O0"}, {"-g", "-O2"}, {"-gdwarf-4", "-O0"}, {"-gdwarf-4", "-O2"}, {"-g", "-O2", "-no-pie"}, {"-g", "-O3", "-gz"},
	} {
		t.Run(strings.Join(flags, " "), func(t *testing.T) {
			path := buildLines(t, flags...)
			f := openFile(t, path, Options{})
			rows := statementRows(t, path, "lines.c")
			if len(rows) < 8 {
				t.Fatalf("gdb knows %d lines", len(rows))
			}
			for line := range 25 {
				places, err := f.Places("lines.c", line)
				if len(rows[line]) == 0 {
					var none *NoCodeError
					if !errors.As(err, &none) {
						t.Errorf("line %d has no code: %v, %v", line, places, err)
						continue
					}
					next := 0
					for l := range rows {
						if l > line && (next == 0 || l < next) {
							next = l
						}
					}
					if none.Next != next && line > 0 {
						t.Errorf("line %d: the next is said to be %d, want %d", line, none.Next, next)
					}
					continue
				}
				if err != nil {
					t.Errorf("line %d: %v", line, err)
				}
				copies := map[string]bool{}
				for _, p := range places {
					addr, _ := f.Vaddr(p.Offset)
					if !slices.Contains(rows[line], addr) {
						t.Errorf("line %d: %#x is none of %#x", line, addr, rows[line])
					}
					if p.Line != line || filepath.Base(p.File) != "lines.c" {
						t.Errorf("line %d: %+v", line, p)
					}
					copies[chain(t, f, p.Offset, line)] = true
				}
				if len(copies) != len(places) {
					t.Errorf("line %d: %d places in %d functions and copies: %#x", line, len(places), len(copies), places)
				}
				for _, addr := range rows[line] {
					offset, _ := f.Offset(addr)
					if c := chain(t, f, offset, line); !copies[c] {
						t.Errorf("line %d: no place in %s (%#x)", line, c, addr)
					}
				}
			}
		})
	}
}

func TestPlacesOfLinesInGoProgramsWithAndWithoutDebugInformation(t *testing.T) {
	for name, flags := range map[string][]string{"dwarf": nil, "table": {"-ldflags=-s -w"}} {
		t.Run(name, func(t *testing.T) {
			f := openFile(t, buildGo(t, flags...), Options{})
			for line, want := range map[int]string{12: "main.(*T).m", 16: "main.outer", 20: "main.inner"} {
				places, err := f.Places("main.go", line)
				if err != nil || len(places) != 1 || places[0].Function != want {
					t.Errorf("line %d: %v, %v; want it in %s", line, places, err, want)
					continue
				}
				lines, err := f.Lines(places[0].Offset)
				if err != nil || len(lines) == 0 || lines[0].Line != line {
					t.Errorf("line %d is at %#x, which is %v, %v", line, places[0].Offset, lines, err)
				}
			}
			var none *NoCodeError
			if _, err := f.Places("main.go", 13); !errors.As(err, &none) || none.Next != 16 {
				t.Errorf("a line without code: %v", err)
			}
			if places, err := f.Places("fmt/print.go", 230); errors.As(err, new(*NoSourceError)) {
				t.Errorf("a file of the library: %v, %v", places, err)
			}
		})
	}
}

func TestAPlaceIsFoundByAnyEndOfThePathOfItsFile(t *testing.T) {
	path := buildLines(t, "-g")
	dir, source := filepath.Dir(path), "lines.c"
	f := openFile(t, path, Options{})
	for _, name := range []string{source, filepath.Join(filepath.Base(dir), source), filepath.Join(dir, source), "./" + source} {
		if places, err := f.Places(name, 4); err != nil || len(places) == 0 {
			t.Errorf("%s: %v, %v", name, places, err)
		}
	}
	for _, name := range []string{"ines.c", "/lines.c", "other/lines.c", "lines.h"} {
		var none *NoSourceError
		if places, err := f.Places(name, 4); !errors.As(err, &none) {
			t.Errorf("%s: %v, %v", name, places, err)
		}
	}
	if _, err := openFile(t, buildLines(t), Options{}).Places(source, 4); !errors.Is(err, ErrNoLines) {
		t.Errorf("without debug information: %v", err)
	}
}

func TestPlacesAreFoundInASeparateDebugFile(t *testing.T) {
	path := compiled.Copy(t, buildLines(t, "-g", "-O2", "-Wl,--build-id"))
	debug, stripped := path+".debug", path+".stripped"
	want, err := openFile(t, path, Options{}).Places("lines.c", 4)
	if err != nil {
		t.Fatal(err)
	}
	run(t, "objcopy", "--only-keep-debug", path, debug)
	run(t, "objcopy", "--strip-all", "--add-gnu-debuglink="+debug, path, stripped)
	f := openFile(t, stripped, Options{Path: stripped, Open: hostFiles("/")})
	defer f.Close()
	got, err := f.Places("lines.c", 4)
	if err != nil || !slices.Equal(got, want) {
		t.Errorf("%v, %v; want %v", got, err, want)
	}
	if loop, err := f.Find("loop"); err != nil || len(loop) != 1 {
		t.Errorf("loop: %v, %v", loop, err)
	}
}
