package symbols

import (
	"debug/elf"
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/ringtap/ringtap/internal/testkit/compiled"
)

// elfFunctions returns what debug/elf finds in both symbol tables: the file
// offset by name of each function, computed with its program headers.
func elfFunctions(t testing.TB, path string) (defined map[string][]uint64, imported map[string]bool) {
	t.Helper()
	f, err := elf.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	all, _ := f.Symbols()
	dynamic, _ := f.DynamicSymbols()
	defined, imported = map[string][]uint64{}, map[string]bool{}
	for _, s := range append(all, dynamic...) {
		typ := elf.ST_TYPE(s.Info)
		if typ != elf.STT_FUNC && typ != elf.STT_GNU_IFUNC {
			continue
		}
		name, _, _ := strings.Cut(s.Name, "@")
		switch {
		case s.Section == elf.SHN_UNDEF:
			imported[name] = true
		case s.Section < elf.SHN_LORESERVE && f.Sections[s.Section].Flags&elf.SHF_EXECINSTR != 0:
			if off := offsetOf(f, s.Value); !slices.Contains(defined[name], off) {
				defined[name] = append(defined[name], off)
			}
		}
	}
	return defined, imported
}

func TestPeerFunctionsAreThoseOfBothSymbolTables(t *testing.T) {
	for _, path := range append(systemFiles(t), buildC(t), buildC(t, "-static"), buildC(t, "-no-pie"), buildGo(t)) {
		t.Run(filepath.Base(path), func(t *testing.T) {
			defined, imported := elfFunctions(t, path)
			all, err := openFile(t, path, Options{}).Functions()
			if err != nil {
				t.Errorf("Functions: %v", err)
			}
			got := map[string][]uint64{}
			for i, f := range all {
				switch f.Kind {
				case Imported:
					if !imported[f.Name] {
						t.Errorf("%s is not imported", f.Name)
					}
					delete(imported, f.Name)
				case Defined, Indirect, Resolver:
					got[f.Name] = append(got[f.Name], f.Offset)
				}
				if i > 0 && f.Kind != Imported && (f.Offset < all[i-1].Offset || f.Offset == all[i-1].Offset && f.Name <= all[i-1].Name) {
					t.Errorf("%v comes behind %v", f, all[i-1])
				}
				if f.Size == 0 && f.Kind != Imported {
					t.Errorf("%v has no size", f)
				}
			}
			for name := range imported {
				t.Errorf("%s is imported, and not listed", name)
			}
			for name, places := range defined {
				for _, at := range places {
					if !slices.Contains(got[name], at) {
						t.Errorf("%s: at %#x, want also %#x", name, got[name], at)
					}
				}
			}
			t.Logf("%d names", len(all))
		})
	}
}

// sections is a program with functions in many sections, an alias, assembly with
// and without types and sizes, and a label inside of a function.
const sections = `
#include <stdio.h>
__attribute__((cold, noinline)) int in_unlikely(int x) { return x + 1; }
__attribute__((hot, noinline)) int in_hot(int x) { return x + 2; }
__attribute__((section(".mine,\"ax\",@progbits#"), noinline)) int in_mine(int x) { return x + 3; }
__attribute__((section("hand_made"), noinline)) int in_hand_made(int x) { return x + 4; }
extern int second_name(int) __attribute__((alias("in_hot")));
extern int plain_label(int), no_size(int);
__asm__(".text\n.globl plain_label\nplain_label:\n mov %edi,%eax\n ret\n"
        ".globl no_size\n.type no_size,@function\nno_size:\n lea 1(%rdi),%eax\n ret\n"
        ".globl sized\n.type sized,@function\nsized:\n nop\ninside:\n nop\n ret\n.size sized,.-sized\n");
int main(int c, char **v) { return printf("%d\n", in_unlikely(c) + in_hot(c) + in_mine(c) + in_hand_made(c) + second_name(c) + plain_label(c) + no_size(c)); }
`

func TestFunctionsAreFoundInEverySection(t *testing.T) {
	if m, err := os.Readlink("/proc/self/exe"); err == nil {
		if f, err := elf.Open(m); err == nil && f.Machine != elf.EM_X86_64 {
			t.Skip("the assembly is amd64's")
		}
	}
	for name, flags := range map[string][]string{
		"pie":           nil,
		"not pie":       {"-no-pie"},
		"apart":         {"-Wl,-z,separate-code"},
		"together":      {"-Wl,-z,noseparate-code"},
		"sections":      {"-ffunction-sections"},
		"far addresses": {"-no-pie", "-Wl,-Ttext-segment=0x10000000"},
	} {
		t.Run(name, func(t *testing.T) {
			out := buildSource(t, "gcc", "sections.c", sections, append([]string{"-O2"}, flags...)...)
			f := openFile(t, out, Options{})
			reference, err := elf.Open(out)
			if err != nil {
				t.Fatal(err)
			}
			defer reference.Close()
			nm := regexp.MustCompile(`(?m)^([0-9a-f]+) [tT] (\w+)$`)
			places := map[string]uint64{}
			for _, m := range nm.FindAllStringSubmatch(string(run(t, "nm", out)), -1) {
				addr, _ := strconv.ParseUint(m[1], 16, 64)
				places[m[2]] = offsetOf(reference, addr)
			}
			for _, want := range []string{
				"in_unlikely", "in_hot", "in_mine", "in_hand_made", "second_name", "plain_label", "no_size",
				"sized", "main", "_start", "_init",
			} {
				got, err := f.Find(want)
				if err != nil || len(got) != 1 || got[0].Offset != places[want] || got[0].Kind != Defined {
					t.Errorf("%s: %v, %v; want it at %#x", want, got, err, places[want])
				}
			}
			if got, _ := f.Find("inside"); len(got) != 0 {
				t.Errorf("a label inside of a function is %v", got)
			}
			if got, _ := f.Find("no_size"); len(got) == 1 && got[0].Offset+got[0].Size != places["sized"] {
				t.Errorf("a function without a size is %v, the next begins at %#x", got, places["sized"])
			}
			if got, _ := f.Find("printf"); len(got) != 1 || got[0].Kind != Imported {
				t.Errorf("printf: %v", got)
			}
			if got, _ := f.Find("printf@plt"); len(got) != 1 || got[0].Kind != PLT {
				t.Errorf("printf@plt: %v", got)
			}
		})
	}
}

func TestFunctionsOfStrippedFilesAreThoseOfTheirOtherTables(t *testing.T) {
	program := compiled.Copy(t, buildC(t, "-rdynamic", "-Wl,--build-id"))
	full := copyOf(t, program, "full")
	places := func(path string, opts Options) map[string]uint64 {
		f := openFile(t, path, opts)
		defer f.Close()
		at := map[string]uint64{}
		for _, name := range []string{"hidden_leaf", "chosen_1", "exported", "plain", "__plain", "main", "malloc@plt", "chosen"} {
			if found, _ := f.Find(name); len(found) == 1 {
				at[name] = found[0].Offset
			}
		}
		return at
	}
	want := places(full, Options{})
	if len(want) != 8 {
		t.Fatalf("the fixture has %v", want)
	}
	run(t, "strip", program)
	without := places(program, Options{})
	if without["hidden_leaf"] != 0 || without["exported"] != want["exported"] || without["__plain"] != want["__plain"] {
		t.Errorf("of the dynamic symbols: %v, of all: %v", without, want)
	}

	debug := program + ".debug"
	run(t, "objcopy", "--only-keep-debug", full, debug)
	linked := copyOf(t, program, "linked")
	run(t, "objcopy", "--add-gnu-debuglink="+debug, linked)
	if got := places(linked, Options{Path: linked, Open: hostFiles("/")}); !maps.Equal(got, want) {
		t.Errorf("with a debug file: %v, want %v", got, want)
	}

	mini := copyOf(t, program, "mini")
	addMiniDebugInfo(t, mini, full)
	if got := places(mini, Options{}); !maps.Equal(got, want) {
		t.Errorf("with MiniDebugInfo: %v, want %v", got, want)
	}
}
