package btf

import (
	"encoding/binary"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// builder makes type information by hand, to be damaged. Types are numbered from 1.
type builder struct{ types, strings []byte }

func (b *builder) name(s string) uint32 {
	if len(b.strings) == 0 {
		b.strings = []byte{0}
	}
	if s == "" {
		return 0
	}
	at := uint32(len(b.strings))
	b.strings = append(append(b.strings, s...), 0)
	return at
}

func (b *builder) add(kind Kind, flag bool, members int, name string, size uint32, rest ...uint32) {
	info := uint32(kind)<<24 | uint32(members)
	if flag {
		info |= 1 << 31
	}
	for _, word := range append([]uint32{b.name(name), info, size}, rest...) {
		b.types = binary.LittleEndian.AppendUint32(b.types, word)
	}
}

// data is the information, with a layout section if there is one.
func (b *builder) data(layout ...byte) string {
	b.name("")
	le := binary.LittleEndian
	header := le.AppendUint16(nil, magic)
	size := uint32(headerSize)
	if layout != nil {
		size += 8
	}
	header = le.AppendUint32(append(header, 1, 0), size)
	header = le.AppendUint32(le.AppendUint32(header, 0), uint32(len(b.types)))
	header = le.AppendUint32(le.AppendUint32(header, uint32(len(b.types))), uint32(len(b.strings)))
	if layout != nil {
		header = le.AppendUint32(le.AppendUint32(header, uint32(len(b.types)+len(b.strings))), uint32(len(layout)))
	}
	return string(slices.Concat(header, b.types, b.strings, layout))
}

func (b *builder) parse(t *testing.T) *Spec {
	t.Helper()
	s, err := Parse(b.data(), nil)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

func first(t *testing.T, s *Spec, kind Kind, name string) Type {
	t.Helper()
	for typ := range s.Find(kind, name) {
		return typ
	}
	t.Fatalf("there is no %v %s", kind, name)
	return Type{}
}

func TestTypesAreSpelledAsInC(t *testing.T) {
	s := readTestdata(t, "types.btf", nil)
	outer := first(t, s, Struct, "outer")
	for name, want := range map[string]string{
		"one": "struct inner", "many": "struct inner [3]", "next": "struct outer *", "nexts": "struct outer **",
		"name": "const char *", "fixed": "char *const", "busy": "volatile int", "later": "struct later *",
		"later_union": "union later_union *", "calls": "int (*[4])(void)", "row": "int (*)[5]",
		"rows": "const int (*const)[5]", "color": "enum color", "choice": "choice_t", "flag": "flag_t",
		"call":    "int (*)(struct outer *, const char *restrict, ...)",
		"factory": "void (*(*)(int))(struct later *)", "anything": "void *", "anything_const": "const void *",
	} {
		m, ok := outer.Field(name)
		if got := m.Type.String(); !ok || got != want {
			t.Errorf("%s is spelled %q, not %q", name, got, want)
		}
	}
	if got := first(t, s, Func, "find").Declare("find"); got != "struct outer *find(struct outer *, const char *, enum color)" {
		t.Errorf("find is declared as %q", got)
	}
	if got := first(t, s, Func, "nothing").Declare("nothing"); got != "void nothing(void)" {
		t.Errorf("nothing is declared as %q", got)
	}
}

func TestParametersOfAFunctionHaveNamesAndTypes(t *testing.T) {
	proto := first(t, readTestdata(t, "types.btf", nil), Func, "find").Target()
	var got []string
	for i := range proto.Len() {
		p := proto.Param(i)
		got = append(got, p.Type.Declare(p.Name))
	}
	if want := []string{"struct outer *from", "const char *name", "enum color color"}; !slices.Equal(got, want) {
		t.Errorf("parameters are %q", got)
	}
	if got := proto.Target().String(); got != "struct outer *" {
		t.Errorf("it returns %q", got)
	}
}

func TestMembersOfAnonymousMembersAreFound(t *testing.T) {
	s := readTestdata(t, "types.btf", nil)
	if m, ok := first(t, s, Struct, "outer").Field("high"); !ok || m.Bit != 72 || m.Type.String() != "u8" {
		t.Errorf("high: %+v %v", m, ok)
	}
	if m, ok := first(t, s, Struct, "wrapper").Field("deep"); !ok || m.Bit != 0 {
		t.Errorf("deep: %+v %v", m, ok)
	}
	for _, name := range []string{"text", "", "x"} {
		if m, ok := first(t, s, Struct, "outer").Field(name); ok {
			t.Errorf("%q is found: %+v", name, m)
		}
	}
	if got := first(t, s, Struct, "outer").FieldNames(5); strings.Join(got, " ") != "one low high both named" {
		t.Errorf("the first members are %q", got)
	}
}

func TestAModuleAddsToTheKernelsTypes(t *testing.T) {
	kernel := readTestdata(t, "types.btf", nil)
	module := readTestdata(t, "module.btf", kernel)
	proto := first(t, module, Func, "take").Target()
	if got := proto.Param(1).Type.Target().Resolve(); got.Name() != "inner" || got.ID() != first(t, kernel, Struct, "inner").ID() {
		t.Errorf("a module's function does not have the kernel's struct inner, but %v", got)
	}
	if m, ok := first(t, module, Struct, "added").Field("label"); !ok || m.Bit != 64 || m.Type.String() != "char [8]" {
		t.Errorf("label: %+v", m)
	}
	for range module.Find(Struct, "inner") {
		t.Error("the module itself has struct inner")
	}
	if _, err := Parse(module.types, kernel); !errors.Is(err, ErrNotBTF) {
		t.Errorf("types without a header: %v", err)
	}
}

func TestBitfieldsOfInformationWithoutTheFlagAreFound(t *testing.T) {
	var b builder
	b.add(Int, false, 0, "unsigned int", 4, 3<<16|5)
	b.add(Typedef, false, 0, "narrow", 1)
	b.add(Struct, false, 1, "s", 8, b.name("m"), 2, 32)
	m, ok := first(t, b.parse(t), Struct, "s").Field("m")
	if !ok || m.Bit != 35 || m.Width != 5 {
		t.Errorf("%+v %v", m, ok)
	}
}

func TestKindsThatTheInformationDescribesArePassedOver(t *testing.T) {
	var b builder
	const newer = 100
	b.add(Kind(newer), false, 2, "", 0, 1, 2, 3, 4, 5)
	b.add(Func, false, 0, "f", 0)
	layout := make([]byte, 4*(newer+1))
	layout[4*newer], layout[4*newer+1] = 4, 8
	s, err := Parse(b.data(layout...), nil)
	if err != nil {
		t.Fatal(err)
	}
	if id := first(t, s, Func, "f").ID(); id != 2 {
		t.Errorf("the function is type %d", id)
	}
	if _, err := Parse(b.data(), nil); err == nil || !strings.Contains(err.Error(), "kind 100") {
		t.Errorf("without a description: %v", err)
	}
}

func TestDamagedInformationIsRefused(t *testing.T) {
	data, err := os.ReadFile("testdata/types.btf")
	if err != nil {
		t.Fatal(err)
	}
	for name, damage := range map[string]func([]byte) []byte{
		"nothing":             func([]byte) []byte { return nil },
		"no magic":            func(d []byte) []byte { d[0] = 0; return d },
		"another byte order":  func(d []byte) []byte { d[0], d[1] = d[1], d[0]; return d },
		"a newer version":     func(d []byte) []byte { d[2] = 2; return d },
		"cut strings":         func(d []byte) []byte { return d[:len(d)-1] },
		"a long header":       func(d []byte) []byte { d[7] = 0xff; return d },
		"a cut type":          func(d []byte) []byte { d[12] -= 4; return d },
		"a kind of no name":   func(d []byte) []byte { d[24+7] = 0x7f; return d },
		"strings without end": func(d []byte) []byte { d[len(d)-1] = 'x'; return d },
	} {
		if _, err := Parse(string(damage(slices.Clone(data))), nil); !errors.Is(err, ErrNotBTF) {
			t.Errorf("%s: %v", name, err)
		}
	}
}

func TestTypesThatLeadInCirclesEnd(t *testing.T) {
	var b builder
	b.add(Typedef, false, 0, "a", 2)
	b.add(Const, false, 0, "", 1)
	b.add(Pointer, false, 0, "", 3)
	b.add(Array, false, 0, "", 0, 4, 4, 0xffffffff)
	b.add(Struct, false, 2, "s", 8, 0, 5, 0, 0, 5, 0)
	b.add(FuncProto, false, 2, "", 6, 0, 6, 0, 6)
	b.add(Typedef, false, 0, "nowhere", 1000)
	s := b.parse(t)
	for typ := range s.Types() {
		if got := typ.String(); len(got) > 100_000 {
			t.Errorf("type %d is spelled with %d bytes", typ.ID(), len(got))
		}
		typ.Size()
		typ.Resolve()
	}
	if m, ok := s.Type(5).Field("x"); ok {
		t.Errorf("found %+v", m)
	}
	if r := s.Type(7).Resolve(); r.Kind() != Void {
		t.Errorf("a type that is not there is a %v", r.Kind())
	}
	if _, ok := s.Type(4).Size(); ok {
		t.Error("an array of itself has a size")
	}
}

func TestReadTellsWhatIsMissing(t *testing.T) {
	dir := t.TempDir()
	if _, err := Read(dir); !errors.Is(err, ErrNone) {
		t.Errorf("no file: %v", err)
	}
	data, err := os.ReadFile("testdata/types.btf")
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(dir, "vmlinux"), data, 0o600); err != nil {
		t.Fatal(err)
	}
	s, err := Read(dir)
	if err != nil {
		t.Fatal(err)
	}
	for _, module := range []string{"absent", "../vmlinux", "..", ""} {
		if _, err := ReadModule(dir, module, s); !errors.Is(err, os.ErrNotExist) {
			t.Errorf("module %q: %v", module, err)
		}
	}
}

func TestLiveTheRunningKernelsTypesAreRead(t *testing.T) {
	if _, err := os.Stat(Dir + "/vmlinux"); err != nil {
		t.Skip("CONFIG_DEBUG_INFO_BTF")
	}
	s, err := Read(Dir)
	if err != nil {
		t.Fatal(err)
	}
	read := first(t, s, Func, "vfs_read").Target()
	if got := read.Declare("vfs_read"); got != "ssize_t vfs_read(struct file *, char *, size_t, loff_t *)" {
		t.Errorf("vfs_read is %q", got)
	}
	modules, err := os.ReadDir(Dir)
	if err != nil {
		t.Fatal(err)
	}
	for _, m := range modules {
		if m.Name() == "vmlinux" {
			continue
		}
		types, err := ReadModule(Dir, m.Name(), s)
		if err != nil {
			t.Errorf("%s: %v", m.Name(), err)
			continue
		}
		for f := range types.Find(Func, "init_module") {
			t.Logf("%s: %s", m.Name(), f.Declare("init_module"))
		}
	}
}
