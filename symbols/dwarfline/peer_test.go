package dwarfline

import (
	"bufio"
	"debug/elf"
	"fmt"
	"os/exec"
	"path"
	"slices"
	"strconv"
	"strings"
	"testing"

	"golang.org/x/arch/x86/x86asm"
)

// place is an instruction and the names of the function it belongs to.
type place struct {
	addr    uint64
	symbols []string
}

// instructions returns every nth instruction of all functions of f. Where
// instructions have one length they are counted, on amd64 decoded.
func instructions(t testing.TB, f *elf.File, nth int) []place {
	t.Helper()
	symbols, err := f.Symbols()
	if err != nil {
		t.Fatal(err)
	}
	aliases := make(map[uint64][]string)
	for _, s := range symbols {
		aliases[s.Value] = append(aliases[s.Value], s.Name)
	}
	var places []place
	n := 0
	for _, s := range symbols {
		if elf.ST_TYPE(s.Info) != elf.STT_FUNC || s.Size == 0 || int(s.Section) >= len(f.Sections) {
			continue
		}
		sec := f.Sections[s.Section]
		code := make([]byte, s.Size)
		if _, err := sec.ReadAt(code, int64(s.Value-sec.Addr)); err != nil {
			continue
		}
		for off := 0; off < len(code); n++ {
			if n%nth == 0 {
				places = append(places, place{s.Value + uint64(off), aliases[s.Value]})
			}
			if f.Machine != elf.EM_X86_64 {
				off += 4
			} else if inst, err := x86asm.Decode(code[off:], 64); err == nil {
				off += inst.Len
			} else {
				off++
			}
		}
	}
	return places
}

// addr2line returns what a program with addr2line's flags says about each
// place, innermost function first.
func addr2line(t testing.TB, program, file string, places []place) [][]Line {
	t.Helper()
	var in strings.Builder
	for _, p := range places {
		fmt.Fprintf(&in, "%#x\n", p.addr)
	}
	cmd := exec.Command(tool(t, program), "-a", "-f", "-i", "-e", file)
	cmd.Stdin = strings.NewReader(in.String())
	out, err := cmd.Output()
	if err != nil {
		t.Fatalf("%v: %v", cmd, err)
	}
	var all [][]Line
	sc := bufio.NewScanner(strings.NewReader(string(out)))
	sc.Buffer(nil, 1<<20)
	for sc.Scan() {
		if strings.HasPrefix(sc.Text(), "0x") {
			all = append(all, nil)
			continue
		}
		l := Line{Function: sc.Text()}
		sc.Scan()
		at, _, _ := strings.Cut(sc.Text(), " (discriminator")
		colon := strings.LastIndexByte(at, ':')
		l.File = at[:colon]
		l.Line, _ = strconv.Atoi(at[colon+1:])
		all[len(all)-1] = append(all[len(all)-1], l)
	}
	if len(all) != len(places) {
		t.Fatalf("%s answered %d of %d addresses", program, len(all), len(places))
	}
	return all
}

// normal brings a chain into a form that both sides can have: cleaned paths,
// and addr2line's "??" for what is unknown.
func normal(lines []Line) string {
	if len(lines) == 0 {
		return "?? ??:0\n"
	}
	var b strings.Builder
	for _, l := range lines {
		name, file := l.Function, l.File
		if name == "" {
			name = "??"
		}
		if file = path.Clean(file); file == "." || file == "?" { // Go writes ? for what it generated
			file = "??"
		}
		fmt.Fprintf(&b, "%s %s:%d\n", name, file, l.Line)
	}
	return b.String()
}

// agree compares two answers about the code of a function. Only this may
// differ: addr2line prefers the symbol table, which is not ours to read, for
// the outermost function. It so names code that DWARF does not describe and
// functions that have no linkage name there, and takes any alias.
func agree(ours, theirs []Line, symbols []string) bool {
	if n := len(theirs); n > 0 && slices.Contains(symbols, theirs[n-1].Function) {
		theirs = slices.Clone(theirs)
		outer := &theirs[n-1]
		switch {
		case len(ours) == 0 && outer.Line == 0:
			return true
		case len(ours) == n:
			outer.Function = ours[n-1].Function
		}
	}
	return normal(ours) == normal(theirs)
}

// TestPeerAddr2lineAgrees asks GNU's program, and where it says otherwise
// LLVM's, because GNU's errs. Version 2.40 does not read 64-bit DWARF 5 nor
// Go's DWARF 5, names inlined functions without linkage names by the symbol
// around them, takes the unit's first file for the included one it should name
// in DWARF 5, and says "<artificial>" after link-time optimization.
func TestPeerAddr2lineAgrees(t *testing.T) {
	for _, p := range []struct {
		name    string
		sources map[string]string
		nth     int // of how many instructions one is asked for
		command string
		args    string
	}{
		{"C, DWARF 2", cProgram, 1, "gcc", "-gdwarf-2 -gstrict-dwarf -O2 -ffunction-sections -o out main.c other.c"},
		{"C, DWARF 3", cProgram, 1, "gcc", "-gdwarf-3 -O2 -o out main.c other.c"},
		{"C, DWARF 4", cProgram, 1, "gcc", "-gdwarf-4 -O2 -o out main.c other.c"},
		{"C, DWARF 5", cProgram, 1, "gcc", "-gdwarf-5 -O2 -o out main.c other.c"},
		{"C, DWARF 5, 64 bit offsets", cProgram, 1, "gcc", "-gdwarf-5 -gdwarf64 -O2 -o out main.c other.c"},
		{"C, no optimization", cProgram, 1, "gcc", "-g -O0 -o out main.c other.c"},
		{"C, link-time optimization", cProgram, 1, "gcc", "-g -O2 -flto -o out main.c other.c"},
		{"C++, DWARF 4", cppProgram, 7, "g++", "-gdwarf-4 -O2 -o out main.cc"},
		{"C++, DWARF 5", cppProgram, 7, "g++", "-gdwarf-5 -O2 -o out main.cc"},
		{"C++, link-time optimization", cppProgram, 7, "g++", "-g -O2 -flto -o out main.cc"},
		{"Rust", rustProgram, 7, "rustc", "-g -O --edition 2021 -o out main.rs"},
		{"Go, DWARF 4", goProgram, 7, "env", "GOEXPERIMENT=nodwarf5 go build -o out ."},
		{"Go, DWARF 5", goProgram, 7, "go", "build -o out ."},
	} {
		t.Run(p.name, func(t *testing.T) {
			tool(t, "addr2line")
			tool(t, "llvm-addr2line")
			file := build(t, p.sources, p.command, strings.Fields(p.args)...)
			x, f := openELF(t, file)
			places := instructions(t, f, p.nth)
			if len(places) > 20000 {
				places = places[:20000]
			}
			gnu := addr2line(t, "addr2line", file, places)
			llvm := addr2line(t, "llvm-addr2line", file, places)
			wrong, byLLVM, inlined := 0, 0, 0
			for i, at := range places {
				ours, err := x.Lookup(at.addr)
				if err != nil {
					t.Fatalf("%#x: %v", at.addr, err)
				}
				if len(ours) > 1 {
					inlined++
				}
				switch {
				case agree(ours, gnu[i], at.symbols):
				case agree(ours, llvm[i], at.symbols):
					byLLVM++
				default:
					if wrong++; wrong <= 5 {
						t.Errorf("%#x %v:\n%saddr2line:\n%sllvm-addr2line:\n%s",
							at.addr, at.symbols, normal(ours), normal(gnu[i]), normal(llvm[i]))
					}
				}
			}
			t.Logf("%d addresses, %d in inlined code; %d agree with llvm-addr2line only, %d with neither",
				len(places), inlined, byLLVM, wrong)
		})
	}
}
