package symbols

import (
	"debug/elf"
	"fmt"
	"os/exec"
	"regexp"
	"runtime"
	"strconv"
	"strings"
	"testing"

	"github.com/ringtap/ringtap/symbols/dwarfparam"
)

// amd64Registers are gdb's names of DWARF's registers.
var amd64Registers = strings.Fields("rax rdx rcx rbx rsi rdi rbp rsp r8 r9 r10 r11 r12 r13 r14 r15")

// reading is gdb's expression for the value at a place, at the first instruction.
func reading(p Param) string {
	loc := p.Location
	switch loc.Where {
	case dwarfparam.Register:
		return fmt.Sprintf("((unsigned long)$%s >> %d)", amd64Registers[loc.Register], loc.Bit)
	case dwarfparam.Stack:
		return fmt.Sprintf("*(unsigned long*)($rsp+8+%d)", loc.Offset)
	case dwarfparam.Memory:
		return fmt.Sprintf("*(unsigned long*)($%s+%d)", amd64Registers[loc.Register], loc.Offset)
	}
	return ""
}

// question is a value that gdb is asked for: the name in the source, and where
// we say that it is.
type question struct {
	name, expr, reading string
	mask                uint64
}

// questions are about those parts of parameters that are numbers.
func questions(params []Param, prefix string) (list []question) {
	for _, p := range params {
		if len(p.Parts) > 0 && (p.Kind == dwarfparam.Struct || p.Kind == dwarfparam.Text) {
			list = append(list, questions(p.Parts, prefix+p.Name+".")...)
			continue
		}
		if p.Name == "" || p.Kind == dwarfparam.Float || p.Kind == dwarfparam.Struct || p.Size == 0 || p.Size > 8 {
			continue
		}
		q := question{prefix + p.Name, prefix + p.Name, reading(p), ^uint64(0) >> (64 - 8*p.Size)}
		switch {
		case strings.HasSuffix(p.Type, "&"):
			q.expr = "&" + q.name // gdb follows references
		case strings.Contains(p.Type, "nullptr"):
			continue // gdb can't read one
		case strings.HasPrefix(p.Type, "func("):
			continue // gdb takes the closure for code
		}
		list = append(list, q)
	}
	return list
}

var gdbValue = regexp.MustCompile(`(?m)^(ours|truth) (\S+) (\S+) ([0-9a-f]+)`)

// compareWithGdb runs a program under gdb, which stops at each function once, and
// compares the values at the places that Params gives with those that gdb finds
// by name: late means behind the prologue, where unoptimized code has saved them.
// Parts have other names in the source: rename is for
// strings.NewReplacer. It returns how many values were compared.
func compareWithGdb(t *testing.T, path string, functions []string, late bool, rename ...string) int {
	t.Helper()
	if runtime.GOARCH != "amd64" {
		t.Skip("gdb's registers are amd64's")
	}
	f := openFile(t, path, Options{})
	script := "set pagination off\nset confirm off\nset breakpoint pending off\nset print thread-events off\nset language c++\n"
	script += "starti\n"
	reference, err := elf.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	defer reference.Close()
	renamed := strings.NewReplacer(rename...)
	asked := map[string]uint64{}
	for _, name := range functions {
		found, err := f.Find(name)
		if err != nil || len(found) != 1 {
			t.Errorf("%s: %v, %v", name, found, err)
			continue
		}
		params, err := f.Params(found[0].Offset)
		if err != nil {
			t.Errorf("%s: %v", name, err)
			continue
		}
		list := questions(params, "")
		addr, _ := f.Vaddr(found[0].Offset)
		if reference.Type == elf.ET_DYN {
			addr += 0x555555554000 // where gdb has programs loaded
		}
		script += fmt.Sprintf("tbreak *%#x\ncontinue\n", addr)
		for _, q := range list {
			if q.reading == "" {
				t.Logf("%s: %s is nowhere", name, q.name)
				continue
			}
			asked[name+" "+q.name] = q.mask
			script += fmt.Sprintf("printf \"ours %s %s %%lx\\n\", %s & 0x%xUL\n", name, q.name, q.reading, q.mask)
		}
		if late {
			script += fmt.Sprintf("tbreak '%s'\ncontinue\n", found[0].Name)
		}
		for _, q := range list {
			if q.reading != "" {
				script += fmt.Sprintf("printf \"truth %s %s %%lx\\n\", ((unsigned long)(%s)) & 0x%xUL\n", name, q.name, renamed.Replace(q.expr), q.mask)
			}
		}
	}
	script += "kill\nquit\n"
	gdb, err := exec.LookPath("gdb")
	if err != nil {
		t.Skip("gdb is not installed")
	}
	// An error ends a script, but not a list of commands.
	args := []string{"-nx", "-batch"}
	for _, command := range strings.Split(strings.TrimSpace(script), "\n") {
		args = append(args, "-ex", command)
	}
	out, _ := exec.Command(gdb, append(args, path)...).CombinedOutput()
	values := map[string]map[string]uint64{"ours": {}, "truth": {}}
	for _, m := range gdbValue.FindAllStringSubmatch(string(out), -1) {
		v, err := strconv.ParseUint(m[4], 16, 64)
		if err != nil {
			t.Fatal(err)
		}
		values[m[1]][m[2]+" "+m[3]] = v
	}
	compared := 0
	for what := range asked {
		ours, ok := values["ours"][what]
		truth, known := values["truth"][what]
		switch {
		case !ok || !known:
			t.Errorf("%s: gdb said nothing (%v, %v)", what, ok, known)
		case ours != truth:
			t.Errorf("%s: %#x at the place that was found, gdb says %#x", what, ours, truth)
		default:
			compared++
		}
	}
	if t.Failed() {
		t.Logf("%s\n%s", script, out)
	}
	return compared
}

var optimizations = [][]string{{"-O0", "-gdwarf-4"}, {"-O0", "-gdwarf-5"}, {"-O2", "-gdwarf-4"}, {"-O2", "-gdwarf-5"}, {"-O1", "-g"}, {"-Og", "-g"}}

func TestPeerParametersOfCAreWhereGdbFindsThem(t *testing.T) {
	functions := strings.Fields("ints pointers floating structs odd returned others many full variadic")
	for _, flags := range optimizations {
		t.Run(strings.Join(flags, " "), func(t *testing.T) {
			n := compareWithGdb(t, buildSource(t, "gcc", "program.c", paramsC, flags...), functions, flags[0] == "-O0")
			if n < 45 {
				t.Errorf("only %d values were compared", n)
			}
		})
	}
}

func TestPeerParametersOfCPlusPlusAreWhereGdbFindsThem(t *testing.T) {
	functions := []string{
		"ns::Derived::f", "ns::Derived::make", "ns::Derived::fixed", "ns::Derived::constant", "ns::shown<int>", "ns::shown<long>",
		"values", "references", "more",
	}
	for _, flags := range optimizations {
		t.Run(strings.Join(flags, " "), func(t *testing.T) {
			n := compareWithGdb(t, buildSource(t, "g++", "program.cc", paramsCPP, flags...), functions, flags[0] == "-O0")
			if n < 20 {
				t.Errorf("only %d values were compared", n)
			}
		})
	}
}

func TestPeerParametersOfGoAreWhereGdbFindsThem(t *testing.T) {
	// Of main.(*point).move gdb finds no prologue to go behind.
	functions := []string{"main.ints", "main.text", "main.mixed", "main.many", "main.record.show"}
	for name, flags := range map[string][]string{"optimized": nil, "not optimized": {"-gcflags=-N -l"}} {
		t.Run(name, func(t *testing.T) {
			path := buildGoSource(t, paramsGo, flags...)
			n := compareWithGdb(t, path, functions, flags != nil,
				"s.ptr", "s.str", "name.ptr", "name.str", "b.ptr", "b.array", "tags.ptr", "tags.array", "e.type", "e.tab")
			if n < 40 {
				t.Errorf("only %d values were compared", n)
			}
		})
	}
}

func TestPeerParametersOfRustAreWhereGdbFindsThem(t *testing.T) {
	functions := []string{"program::Pair::make", "program::Pair::method", "program::ints", "program::structs", "program::dynamic", "program::many", "program::wide"}
	var rename []string
	for _, name := range []string{"s", "v", "b", "d", "f"} {
		rename = append(rename, name+".ptr", name+".data_ptr", name+".len", name+".length")
	}
	for name, flags := range map[string][]string{"not optimized": {"-g"}, "optimized": {"-g", "-Copt-level=2"}} {
		t.Run(name, func(t *testing.T) {
			path := buildSource(t, "rustc", "program.rs", paramsRust, flags...)
			n := compareWithGdb(t, path, functions, name == "not optimized", rename...)
			if name == "not optimized" && n < 30 || n < 15 {
				t.Errorf("only %d values were compared", n)
			}
		})
	}
}
