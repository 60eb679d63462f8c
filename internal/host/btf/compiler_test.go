package btf

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// A C compiler knows where members are and whether a type is spelled right. These
// tests write a program that asserts what the type information says.

func TestACompilerAgreesAboutTheTypesOfAFile(t *testing.T) {
	types := readTestdata(t, "types.btf", nil)
	if n := assertByCompiler(t, mustAbs(t, "testdata/types.c"), types, true); n < 50 {
		t.Errorf("only %d members were compared", n)
	}
}

func TestACompilerAgreesAboutTheTypesThatAModuleAdds(t *testing.T) {
	module := readTestdata(t, "module.btf", readTestdata(t, "types.btf", nil))
	if n := assertByCompiler(t, mustAbs(t, "testdata/module.c"), module, true); n != 4 {
		t.Errorf("%d members were compared, not 4", n)
	}
}

// TestPeerACompilerAgreesAboutTheTypesOfTheKernel has bpftool(8) make a C header of
// the running kernel's types.
func TestPeerACompilerAgreesAboutTheTypesOfTheKernel(t *testing.T) {
	s := kernelSpec(t)
	bpftool, err := exec.LookPath("bpftool")
	if err != nil {
		bpftool = "/usr/sbin/bpftool"
	}
	if _, err := os.Stat(bpftool); err != nil {
		t.Skip("bpftool is not installed")
	}
	header := filepath.Join(t.TempDir(), "vmlinux.h")
	out, err := exec.Command(bpftool, "btf", "dump", "file", Dir+"/vmlinux", "format", "c").Output()
	if err != nil {
		t.Skip("bpftool can't read the kernel's types:", err)
	}
	if err := os.WriteFile(header, out, 0o600); err != nil {
		t.Fatal(err)
	}
	n := assertByCompiler(t, header, s, false)
	t.Logf("%d members and parameters", n)
	if n < 10000 {
		t.Errorf("only %d members were compared", n)
	}
}

// assertByCompiler compiles and runs a program that includes a file and asserts
// that its structs and unions are as s says; it returns how many members were
// compared. Structs of which there are several of one name are left out, and
// unless it is strict also what bpftool declares with another size.
func assertByCompiler(t *testing.T, include string, s *Spec, strict bool) int {
	t.Helper()
	gcc, err := exec.LookPath("gcc")
	if err != nil {
		t.Skip("gcc is not installed")
	}
	named := make(map[string]int)
	for typ := range s.Types() {
		if k := typ.Kind(); k == Struct || k == Union || k == Forward || k == Enum || k == Enum64 || k == Typedef {
			named[typ.Name()]++
		}
		for i := range enumerators(typ) {
			name, _ := typ.Enumerator(i)
			named[name]++
		}
	}
	var static, dynamic strings.Builder
	count := 0
	for typ := range s.Types() {
		k := typ.Kind()
		if k == Func && named["#"+typ.Name()] == 0 {
			named["#"+typ.Name()]++
			if comparable(typ.Target().String(), named) {
				// That it can be declared at all shows that it is C.
				fmt.Fprintf(&static, "extern __typeof__(%s) check_%s;\nextern %s;\n", typ.String(), typ.Name(), typ.Declare("check_"+typ.Name()))
				count++
			}
		}
		for i := range enumerators(typ) {
			if name, value := typ.Enumerator(i); named[name] == 1 {
				fmt.Fprintf(&static, "_Static_assert((long long)%s == %dLL, \"value of %[1]s\");\n", name, value)
			}
		}
		if k != Struct && k != Union || typ.Name() == "" || named[typ.Name()] > 1 {
			continue
		}
		size, _ := typ.Size()
		if !strict && hasSmallEnum(typ) {
			continue
		}
		if strict {
			fmt.Fprintf(&static, "_Static_assert(sizeof(%s) == %d, \"size of %[1]s\");\n", typ, size)
		}
		for _, name := range typ.FieldNames(1 << 16) {
			m, ok := typ.Field(name)
			if !ok {
				t.Errorf("%s has %s, which is not found", typ, name)
				continue
			}
			count++
			if m.Width > 0 {
				fmt.Fprintf(&dynamic, "if (sizeof(%s) == %d) BITS(%[1]s, %[3]s, %d, %d)\n", typ, size, name, m.Bit, m.Width)
				continue
			}
			fmt.Fprintf(&static, "_Static_assert(sizeof(%s) != %d || __builtin_offsetof(%[1]s, %[3]s) * 8 == %d, \"place of %[3]s in %[1]s\");\n", typ, size, name, m.Bit)
			if spelled := m.Type.String(); comparable(spelled, named) {
				fmt.Fprintf(&static, "_Static_assert(__builtin_types_compatible_p(__typeof__(((%s *)0)->%s), %s), \"type of %[2]s in %[1]s\");\n", typ, name, spelled)
			}
		}
	}
	source := fmt.Sprintf(`#include %q
int printf(const char *, ...);
#define BITS(type, member, bit, width) { \
	union { type s; unsigned char bytes[sizeof(type)]; } u = { .bytes = { 0 } }; \
	int first = -1, n = 0; u.s.member = -1; \
	for (int i = 0; i < 8 * (int)sizeof(type); i++) if (u.bytes[i / 8] >> i %% 8 & 1) { n++; if (first < 0) first = i; } \
	if (first != bit || n != width) { bad++; printf(#type "." #member ": %%d bits at %%d\n", n, first); } }
%s
int main(void) { int bad = 0;
%s
return bad != 0; }
`, include, static.String(), dynamic.String())
	dir := t.TempDir()
	path, program := filepath.Join(dir, "check.c"), filepath.Join(dir, "check")
	if err := os.WriteFile(path, []byte(source), 0o600); err != nil {
		t.Fatal(err)
	}
	if out, err := exec.Command(gcc, "-w", "-O0", "-fno-builtin", "-std=gnu11", "-o", program, path).CombinedOutput(); err != nil {
		t.Fatalf("gcc: %v\n%.4000s", err, out)
	}
	if out, err := exec.Command(program).CombinedOutput(); err != nil {
		t.Errorf("%v\n%.4000s", err, out)
	}
	return count
}

// enumerators is the number of an enum's, 0 of other types.
func enumerators(typ Type) int {
	if k := typ.Kind(); k == Enum || k == Enum64 {
		return typ.Len()
	}
	return 0
}

// hasSmallEnum reports whether a struct has an enum of one byte, for which bpftool
// declares one of four.
func hasSmallEnum(typ Type) bool {
	for i := range typ.Len() {
		m := typ.Member(i).Type.Resolve()
		if size, _ := m.Size(); m.Kind() == Enum && size < 4 || m.Kind() == Struct && m.Name() == "" && hasSmallEnum(m) {
			return true
		}
	}
	return false
}

// comparable reports whether a spelled type means one thing in the compiled file.
func comparable(spelled string, named map[string]int) bool {
	for word := range strings.FieldsFuncSeq(spelled, func(r rune) bool { return strings.ContainsRune(" *()[],", r) }) {
		if named[word] > 1 {
			return false
		}
	}
	return !strings.Contains(spelled, "…")
}

func readTestdata(t testing.TB, name string, base *Spec) *Spec {
	t.Helper()
	data, err := os.ReadFile(filepath.Join("testdata", name))
	if err != nil {
		t.Fatal(err)
	}
	s, err := Parse(string(data), base)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

func mustAbs(t *testing.T, path string) string {
	t.Helper()
	path, err := filepath.Abs(path)
	if err != nil {
		t.Fatal(err)
	}
	return path
}
