package ctypes

import (
	"debug/elf"
	"encoding/binary"
	"fmt"
	"math/bits"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/ringtap/ringtap/internal/bpftrace/syntax"
	"github.com/ringtap/ringtap/internal/bpftrace/types"
	"github.com/ringtap/ringtap/internal/host/btf"
	"github.com/ringtap/ringtap/internal/testkit/compiled"
)

// definitions are those that C's rules are hard to get right for. gcc says what is right.
const definitions = `
struct empty { };
struct plain { char c; short s; int i; long l; void *p; char tail; };
struct packed { char c; int i; long l; } __attribute__((packed));
struct __attribute__((packed)) before { char c; long l; };
struct wide { char c; } __attribute__((aligned(64)));
struct member { char c; int i __attribute__((aligned(16))); char d; };
struct loose { char c; int i __attribute__((packed)); char d; };
struct both { char c; int i; } __attribute__((packed, aligned(4)));
struct nested { char c; struct plain p; struct packed q; char d; struct wide w; };
struct inpacked { char c; struct plain p; struct member m; } __attribute__((packed));
struct matrix { char a[3][5]; int *b[4]; int (*c)[6]; void (*d)(int, char); int (*e[2])(void); struct plain f[2][3]; };
struct flexible { int n; char data[]; };
struct anonymous { int a; union { int b; long c; struct { char d; short e; }; }; struct { char f; } g; char h; };
struct named { struct inner { int i; }; char c; };
union mixed { char c; long l; char text[13]; struct packed p; };
union bitunion { int a:3; unsigned long b:40; char c; };
struct bits { int a:3; int b:29; int c:1; unsigned d:31; char e; };
struct bitcross { char a; int b:20; int c:13; long d:33; long e:32; char f:7; char g:2; };
struct bitzero { int a:3; int :0; int b:3; char c; long :0; char d; };
struct bitpad { int a:3; int :7; int b:3; short :9; char c:1; };
struct bitpacked { char a; int b:20; int c:30; long d:63; char e:1; } __attribute__((packed));
struct bitmember { int a:5; int b:30 __attribute__((packed)); int c:3; };
struct bitaligned { int a:5; int b:3 __attribute__((aligned(8))); int c:3; };
struct bitbool { _Bool a:1; _Bool b:1; char c:4; unsigned char d:3; short e:12; };
struct onlyzero { char a; int :0; };
struct onlypad { char a; int :3; };
enum small { SMALL_A, SMALL_B = 7 };
enum negative { NEGATIVE = -1, POSITIVE = 1 };
enum large { LARGE = 0x100000000 };
enum wrapped { WRAPPED = 0xffffffff };
struct enums { char a; enum small b; enum large c; char d; enum negative e:3; };
typedef struct { char a; long b; } alias;
typedef alias other, *pointer, list[3];
typedef unsigned long long word;
struct aliases { char a; alias b; other c; pointer d; char e; list f; word g; };
struct floats { char a; float b; char c; double d; char e; long double f; char g; __int128 h; };
struct selfish { struct selfish *next; struct later *l; };
struct later { struct selfish s; int i; };
`

// random returns definitions that nobody has thought of, with bit fields that have no name if
// padding is set.
func random(n int, padding bool) string {
	r := rand.New(rand.NewPCG(1, 2))
	scalars := []string{"char", "signed char", "unsigned char", "short", "unsigned short", "int", "unsigned", "long",
		"unsigned long", "long long", "_Bool", "void *", "enum small"}
	var s strings.Builder
	for i := range n {
		word := "struct"
		if r.IntN(6) == 0 {
			word = "union"
		}
		fmt.Fprintf(&s, "%s r%d {\n", word, i)
		for m := range 1 + r.IntN(8) {
			attribute := ""
			switch r.IntN(12) {
			case 0:
				attribute = " __attribute__((packed))"
			case 1:
				attribute = fmt.Sprintf(" __attribute__((aligned(%d)))", 1<<r.IntN(5))
			}
			kind := r.IntN(11)
			switch scalar := scalars[r.IntN(len(scalars))]; {
			case kind < 3 && i > 0:
				fmt.Fprintf(&s, "\tTAG r%d m%d%s;\n", r.IntN(i), m, attribute)
			case kind == 3:
				fmt.Fprintf(&s, "\tunion { %s m%da; struct { char m%db; %s m%dc; }; };\n", scalar, m, m, scalars[r.IntN(len(scalars))], m)
			case kind == 4:
				fmt.Fprintf(&s, "\t%s m%d[%d]%s;\n", scalar, m, 1+r.IntN(5), attribute)
			case kind == 5 && padding && scalar != "void *":
				fmt.Fprintf(&s, "\t%s : %d;\n", scalar, r.IntN(2))
			case kind > 6 && scalar != "void *":
				fmt.Fprintf(&s, "\t%s m%d : %d%s;\n", scalar, m, 1+r.IntN(maxBits(scalar)), attribute)
			default:
				fmt.Fprintf(&s, "\t%s m%d%s;\n", scalar, m, attribute)
			}
		}
		s.WriteString("}")
		if r.IntN(5) == 0 {
			s.WriteString(" __attribute__((packed))")
		}
		s.WriteString(";\n")
	}
	text := s.String()
	for i := range n { // r1 is a struct or a union
		word := "struct"
		if strings.Contains(text, fmt.Sprintf("union r%d {", i)) {
			word = "union"
		}
		text = strings.ReplaceAll(text, fmt.Sprintf("TAG r%d ", i), fmt.Sprintf("%s r%d ", word, i))
	}
	return text
}

func maxBits(scalar string) int {
	c, _ := named(scalar)
	switch {
	case scalar == "enum small":
		return 32
	case c.Kind == types.Bool:
		return 1
	}
	return 8 * c.Size
}

// truth is a program of C that says how a compiler lays out types.
type truth struct {
	file    *elf.File
	symbols map[string]elf.Symbol
}

func compile(t *testing.T, compiler, source string, flags ...string) *truth {
	t.Helper()
	command := append([]string{compiler, "-std=gnu11", "-w", "-fno-common", "-O0"}, flags...)
	path := compiled.Program(t, map[string]string{"layout.c": source}, append(command, "-c", "-o", "layout.o", "layout.c")...)
	f, err := elf.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { f.Close() })
	list, err := f.Symbols()
	if err != nil {
		t.Fatal(err)
	}
	tr := &truth{f, map[string]elf.Symbol{}}
	for _, s := range list {
		tr.symbols[s.Name] = s
	}
	return tr
}

// bytes returns what a variable holds.
func (tr *truth) bytes(t *testing.T, name string) []byte {
	t.Helper()
	s, ok := tr.symbols[name]
	if !ok {
		t.Fatalf("the object has no %s", name)
	}
	section := tr.file.Sections[s.Section]
	if section.Type == elf.SHT_NOBITS {
		return make([]byte, s.Size)
	}
	data, err := section.Data()
	if err != nil {
		t.Fatal(err)
	}
	return data[s.Value : s.Value+s.Size]
}

// leaf is a member that has a name, also one of anonymous members.
type leaf struct {
	name  string
	field types.Field
}

func leaves(t *types.Type) []leaf {
	var list []leaf
	for _, f := range t.Fields {
		if f.Name != "" {
			list = append(list, leaf{f.Name, f})
			continue
		}
		for _, l := range leaves(f.Type) {
			l.field.Offset += f.Offset
			list = append(list, l)
		}
	}
	return list
}

// source returns a program that holds the sizes, the offsets, and the bits of all structs.
func source(text string, scope *Scope) (c string, names []string) {
	var numbers, bitfields strings.Builder
	for name := range scope.structs {
		if strings.Contains(name, "anonymous ") {
			continue
		}
		names = append(names, name)
		id := strings.ReplaceAll(name, " ", "_")
		fmt.Fprintf(&numbers, "const unsigned long size_%s[] = { sizeof(%s), _Alignof(%s)", id, name, name)
		for _, l := range leaves(scope.done[name].Type) {
			if l.field.Bits == 0 {
				fmt.Fprintf(&numbers, ", __builtin_offsetof(%s, %s)", name, l.name)
			} else {
				fmt.Fprintf(&bitfields, "%s bits_%s_%s = { .%s = -1 };\n", name, id, l.name, l.name)
			}
		}
		numbers.WriteString(" };\n")
	}
	return text + numbers.String() + bitfields.String(), names
}

func parse(t *testing.T, text string) *syntax.Program {
	t.Helper()
	p, err := syntax.Parse("layout.c", text, syntax.Options{})
	if err != nil {
		t.Fatal(err)
	}
	return p
}

func TestLayoutsAreThoseOfGCC(t *testing.T) {
	for _, arch := range []struct{ name, compiler string }{{"amd64", "x86_64-linux-gnu-gcc"}, {"arm64", "aarch64-linux-gnu-gcc"}} {
		t.Run(arch.name, func(t *testing.T) {
			text := definitions + random(300, true)
			scope, err := newScope(parse(t, text), nil, arch.name)
			if err != nil {
				t.Fatal(err)
			}
			program, names := source(text, scope)
			tr := compile(t, arch.compiler, program)
			for _, name := range names {
				compare(t, tr, name, scope.done[name])
			}
		})
	}
}

// compare asserts that a struct has the layout of the compiler.
func compare(t *testing.T, tr *truth, name string, c ctype) {
	id := strings.ReplaceAll(name, " ", "_")
	numbers := tr.bytes(t, "size_"+id)
	next := func() int {
		n := int(binary.LittleEndian.Uint64(numbers))
		numbers = numbers[8:]
		return n
	}
	if size := next(); c.Size != size {
		t.Errorf("%s has %d bytes, gcc says %d", name, c.Size, size)
	}
	if align := next(); c.align != 0 && c.align != align {
		t.Errorf("%s is aligned to %d, gcc says %d", name, c.align, align)
	}
	for _, l := range leaves(c.Type) {
		f := l.field
		if f.Bits == 0 {
			if offset := next(); f.Offset != offset {
				t.Errorf("%s.%s is at %d, gcc says %d", name, l.name, f.Offset, offset)
			}
			continue
		}
		first, count := ones(tr.bytes(t, "bits_"+id+"_"+l.name))
		if at := 8*f.Offset + f.BitOffset; at != first || f.Bits != count {
			t.Errorf("%s.%s is at bit %d with %d bits, gcc says %d and %d", name, l.name, at, f.Bits, first, count)
		}
		if f.BitOffset >= 64 || f.Offset+(f.BitOffset+f.Bits+7)/8 > c.Size {
			t.Errorf("%s.%s is outside of %s: byte %d, bit %d", name, l.name, name, f.Offset, f.BitOffset)
		}
	}
}

// ones returns the first bit that is set, and how many are.
func ones(data []byte) (first, count int) {
	first = -1
	for i, b := range data {
		if b != 0 && first < 0 {
			first = 8*i + bits.TrailingZeros8(b)
		}
		count += bits.OnesCount8(b)
	}
	return first, count
}

func TestTypesOfTheKernelHaveTheLayoutThatGCCDescribes(t *testing.T) {
	for _, compiler := range []string{"x86_64-linux-gnu-gcc", "aarch64-linux-gnu-gcc"} {
		t.Run(compiler, func(t *testing.T) {
			text := definitions + random(300, false) // gcc 12 describes what follows one wrongly
			scope, err := newScope(parse(t, text), nil, "amd64")
			if err != nil {
				t.Fatal(err)
			}
			program, names := source(text, scope)
			var uses strings.Builder // only types that are used are described
			for i, name := range names {
				fmt.Fprintf(&uses, "%s *use%d;\n", name, i)
			}
			tr := compile(t, compiler, program+uses.String(), "-gbtf")
			data, err := tr.file.Section(".BTF").Data()
			if err != nil {
				t.Fatal(err)
			}
			spec, err := btf.Parse(string(data), nil)
			if err != nil {
				t.Fatal(err)
			}
			kernel := NewBTF(spec)
			for _, name := range names {
				found, _, ok := kernel.Type(name)
				if !ok {
					t.Errorf("the kernel's types have no %s", name)
					continue
				}
				compare(t, tr, name, ctype{found, 0})
				want := scope.done[name].Type
				if compiler == "x86_64-linux-gnu-gcc" && len(leaves(found)) != len(leaves(want)) {
					t.Errorf("%s has %d members, defined are %d", name, len(leaves(found)), len(leaves(want)))
				}
			}
		})
	}
}
