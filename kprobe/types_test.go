package kprobe

import (
	"encoding/binary"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/ringtap/ringtap/ftrace"
	"github.com/ringtap/ringtap/internal/arch"
	"github.com/ringtap/ringtap/internal/host/btf"
	"github.com/ringtap/ringtap/internal/testkit/fuzzing"
)

// What is fetched is compared with a compiler's mind in types_compiler_test.go;
// here is what it is called, how it is printed, and what can't be had.

func fetchOf(t *testing.T, function, path string, isReturn bool) ([]ftrace.FetchArg, error) {
	t.Helper()
	typ := ""
	if i := strings.LastIndexByte(path, ':'); i >= 0 {
		path, typ = path[:i], path[i+1:]
	}
	module, name, ok := strings.Cut(function, "/")
	if !ok {
		module, name = "", function
	}
	return fixtureTypes(arch.AMD64).Fetch(Function{Name: name, Module: module}, isReturn, Arg{Path: path, Fetch: ftrace.FetchArg{Type: typ}})
}

func TestValuesArePrintedAsTheirTypesSay(t *testing.T) {
	for path, want := range map[string]string{
		"item": "item:x64", "name": "name:string", "size": "size:u64", "item->id": "id:u64", "item->comm": "comm:string", "&item->comm": "comm:string",
		"item->text.name": "name:string", "item->mac": "mac:u8[6]", "item->numbers": "numbers:s32[5]", "item->items": "items:x64[3]",
		"item->tiny": "tiny:u8", "item->low": "low:s16", "item->mood": "mood:s32", "item->flags": "flags:u32", "item->ready": "ready:u8",
		"item->bit_b": "bit_b:b11@3/16", "item->count": "count:s32", "item->deep": "id:u16", "item->ops->open": "open:symbol", "item->data": "data:x64",
		"sk->__sk_common.skc_daddr": "skc_daddr:x32", "sk->sk_daddr": "sk_daddr:x32", "sk->sk_num": "sk_num:u16", "item->numbers[2]": "numbers_2:s32", "item->texts[1].len": "len:u32",
		"*list": "list:x64", "item->comm:x8[4]": "comm:x8[4]", "item->ops->open:x64": "open:x64", "sk->sk_daddr:u8[4]": "sk_daddr:u8[4]",
	} {
		got, err := fetchOf(t, "pointers", path, false)
		if path == "item->deep" {
			want = "deep:u16"
		}
		if err != nil || len(got) != 1 || got[0].Name+":"+got[0].Type != want {
			t.Errorf("%s is %v, %v; want %s", path, got, err, want)
		}
	}
}

func TestAnArgumentsOwnNameAndTypeAreTaken(t *testing.T) {
	arg := Arg{Path: "item->next", Fetch: ftrace.FetchArg{Name: "n", Type: "x8[3]"}}
	got, err := fixtureTypes(arch.AMD64).Fetch(Function{Name: "pointers"}, false, arg)
	if err != nil || len(got) != 1 || got[0].String() != "n=+0(+8($arg1)):x8[3]" {
		t.Errorf("%v, %v", got, err)
	}
}

func TestWhatIsReturnedHasItsType(t *testing.T) {
	for function, want := range map[string]string{
		"pointers": "retval=$retval:s64", "variadic": "retval=$retval:s32", "name_of": "retval=+0($retval):string", "next_of": "retval=$retval:x64",
		"is_ready": "retval=$retval:u8", "nothing": "", "registers": "retval_0=$retval:x64 retval_1=%dx:x64", "overflow": "retval=+0($retval):x64[4]",
	} {
		got, err := fetchOf(t, function, "$args", true)
		var texts []string
		for _, a := range got {
			texts = append(texts, a.String())
		}
		if err != nil || strings.Join(texts, " ") != want {
			t.Errorf("%s returns %q, %v; want %q", function, texts, err, want)
		}
	}
	if got, err := fetchOf(t, "next_of", "$retval->next->text.name", true); err != nil || got[0].String() != "name=+0(+24(+8($retval))):string" {
		t.Errorf("%v, %v", got, err)
	}
}

func TestAModulesFunctionsHaveTheKernelsTypes(t *testing.T) {
	got, err := fetchOf(t, "a-module/module_function", "added->item->text.name", false)
	if err != nil || got[0].String() != "name=+0(+24(+0($arg1))):string" {
		t.Errorf("%v, %v", got, err)
	}
	// The kernel proper has a declaration of struct hidden only.
	if got, err := fetchOf(t, "a_module/module_function", "item->hidden->secret", false); err != nil || !strings.HasSuffix(got[0].String(), ")):s32") {
		t.Errorf("%v, %v", got, err)
	}
	if _, err := fetchOf(t, "other/module_function", "added->item", false); err == nil || !strings.Contains(err.Error(), "module other") {
		t.Error(err)
	}
}

func TestErrorsPointAtThePlaceAndSayWhatIsThere(t *testing.T) {
	for _, test := range []struct{ path, at, says string }{
		{"itm->id", "itm", "pointers has no parameter itm; it has item, name, list, buffer, size, sk"},
		{"item->nxt", "nxt", "struct item has no member nxt; did you mean next"},
		{"item->next->teext", "teext", "did you mean text"},
		{"item->hash", "hash", "its text has: text.hash"},
		{"item.next", ".", "item is a pointer (struct item *): its members are item->next"},
		{"item->text->name", "->name", "text is no pointer, but the struct text itself: its members are text.name"},
		{"item->texts.name", ".name", "name an element, texts[0].name"},
		{"item->id->x", "->x", "id has no members: it is u64"},
		{"item->text", "text", "text is struct text, whose members are hash, len, both, name"},
		{"item->numbers[5]", "5", "numbers has 5 elements, [0] to [4]"},
		{"item->numbers[x]", "x", "[0], [1]"},
		{"item->numbers[1", "", "not closed"},
		{"item->id[1]", "[1]", "id is no array, but u64"},
		{"item->long_array", "long_array", "long_array:u32[64]"},
		{"item->flexible", "flexible", "flexible:s32[4]"},
		{"item->texts", "texts", "array of struct text"},
		{"item->real", "real", "double"},
		{"item->huge", "huge", "__int128"},
		{"*item->data", "data", "cast the pointer"},
		{"item->hidden->secret", "->secret", "type information does not have"},
		{"*size", "*size", "size is no pointer"},
		{"&item->bit_a", "&", "bitfield"},
		{"&size", "&", "not in memory"},
		{"&item->next", "next", "the kernel can't add"},
		{"item->bit_a:u8", "bit_a", "bitfield of 3 bits"},
		{"item->low:u32", "low", "of 16 bits, and u32 takes 32"},
		{"item->low:symbol", "low", "no address"},
		{"item->comm:u64", "comm", "name an element, as in comm[0]"},
		{"item->comm:x8[17]", "comm", "of 16 bytes, and x8[17] takes 17"},
		{"item->low:string", "low", "no text"},
		{"item->text:string", "text", "no text"},
		{"size:x8[8]", "size", "not in memory"},
		{"((struct itemm *)name)->id", "itemm", "did you mean item"},
		{"((struct item *)size", "", "should close"},
		{"(struct item)name", "(struct", "no struct item"},
		{"(struct item *)item->low", "(struct", "no pointer can be made"},
		{"(long)item->numbers[0]+1", "+1", "is not understood here"},
		{"(unsigned long)item->low", "(unsigned", "can't make"},
		{"item->", "", "name of a member follows"},
		{"", "", "ends where a parameter's name belongs"},
		{"$arg0", "$arg0", "no $arg0"},
		{"$nonsense", "$nonsense", "no $nonsense"},
		{"item" + strings.Repeat("->next", 14) + "->comm", "comm", "no more than 63"},
		{strings.Repeat("*", 600) + "item", "", "no more than|can't have more than 500"},
	} {
		_, err := fetchOf(t, "pointers", test.path, false)
		var syntax *ftrace.SyntaxError
		if !errors.As(err, &syntax) {
			t.Errorf("%s: %v", test.path, err)
			continue
		}
		path, _, _ := strings.Cut(test.path, ":")
		at := path[min(syntax.Pos, len(path)):]
		if syntax.Text != path || test.at == "" && syntax.Pos != min(len(path), maxPath) || !strings.HasPrefix(at, test.at) {
			t.Errorf("%s: the error points at %q, not at %q", test.path, at, test.at)
		}
		if !slices.ContainsFunc(strings.Split(test.says, "|"), func(s string) bool { return strings.Contains(syntax.Message, s) }) {
			t.Errorf("%s: %q does not say %q", test.path, syntax.Message, test.says)
		}
	}
}

func TestFunctionsWithoutTypesSayWhatWorksInstead(t *testing.T) {
	for function, says := range map[string]string{
		"absent":              "does not describe absent; $arg1",
		"pointers.part.0":     "the compiler split off pointers, ",
		"pointers.cold":       "the compiler split off pointers, ",
		"absent.constprop.17": "does not describe absent.constprop.17",
	} {
		_, err := fetchOf(t, function, "item->id", false)
		if err == nil || !strings.Contains(err.Error(), says) {
			t.Errorf("%s: %v", function, err)
		}
		if _, err := fetchOf(t, function, "$args", false); err == nil {
			t.Errorf("%s has arguments", function)
		}
		// A cast needs no function.
		got, err := fetchOf(t, function, "((struct item *)$arg2)->comm", false)
		if err != nil || got[0].Type != "string" {
			t.Errorf("%s: %v %v", function, got, err)
		}
	}
	for _, function := range []string{"pointers.isra.0", "pointers.llvm.123"} {
		if got, err := fetchOf(t, function, "item->id", false); err != nil || got[0].Type != "u64" {
			t.Errorf("%s: %v %v", function, got, err)
		}
	}
	_, err := KernelTypes(t.TempDir()).Fetch(Function{Name: "vfs_read"}, false, Arg{Path: "count"})
	if !errors.Is(err, btf.ErrNone) || !strings.Contains(err.Error(), "$arg1, $arg2") {
		t.Errorf("a kernel without type information: %v", err)
	}
	_, err = fetchOf(t, "nothing", "$retval", true)
	if err == nil || !strings.Contains(err.Error(), "returns nothing (void)") {
		t.Error(err)
	}
}

// TestPointersIntoTheTasksMemoryAreReadThere is about information of clang, which
// has the kernel's __user and __percpu: int f(const char __user *name, struct s
// __user *list, int __percpu *count).
func TestPointersIntoTheTasksMemoryAreReadThere(t *testing.T) {
	const strings = "\x00char\x00user\x00percpu\x00s\x00next\x00name\x00list\x00count\x00f\x00"
	words := []uint32{
		1, 1 << 24, 1, 8, // 1 char
		0, 10 << 24, 1, // 2 const char
		6, 18 << 24, 2, // 3 __user
		0, 2 << 24, 3, // 4 const char __user *
		18, 4<<24 | 1, 8, 20, 7, 0, // 5 struct s { struct s __user *next; }
		6, 18 << 24, 5, // 6 __user
		0, 2 << 24, 6, // 7 struct s __user *
		11, 18 << 24, 1, // 8 __percpu
		0, 2 << 24, 8, // 9 char __percpu *
		0, 13<<24 | 3, 0, 25, 4, 30, 7, 35, 9, // 10
		41, 12 << 24, 10, // 11 f
	}
	data := []byte{0x9f, 0xeb, 1, 0}
	for _, word := range append([]uint32{24, 0, uint32(4 * len(words)), uint32(4 * len(words)), uint32(len(strings))}, words...) {
		data = binary.LittleEndian.AppendUint32(data, word)
	}
	root := t.TempDir()
	dir := filepath.Join(root, btf.Dir)
	if err := os.MkdirAll(dir, 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(dir, "vmlinux"), append(data, strings...), 0o600); err != nil {
		t.Fatal(err)
	}
	types := KernelTypes(root)
	for path, want := range map[string]string{
		"name": "name=+u0($arg1):ustring", "list->next->next": "next=+u0(+u0($arg2)):x64", "*name": "name=+u0($arg1):u8", "count": "count=$arg3:x64",
	} {
		got, err := types.Fetch(Function{Name: "f"}, false, Arg{Path: path})
		if err != nil || len(got) != 1 || got[0].String() != want {
			t.Errorf("%s: %v, %v; want %s", path, got, err, want)
		}
	}
	if _, err := types.Fetch(Function{Name: "f"}, false, Arg{Path: "*count"}); err == nil {
		t.Error("what a per-CPU pointer leads to was fetched")
	}
}

// TestLiveAllArgumentsOfAllFunctionsAreInTheKernelsGrammar takes the parameters of
// every function that the running kernel describes.
func TestLiveAllArgumentsOfAllFunctionsAreInTheKernelsGrammar(t *testing.T) {
	if _, err := os.Stat(btf.Dir + "/vmlinux"); err != nil {
		t.Skip("CONFIG_DEBUG_INFO_BTF")
	}
	spec, err := btf.Read(btf.Dir)
	if err != nil {
		t.Fatal(err)
	}
	functions, fetched := 0, 0
	for f := range spec.Types() {
		if f.Kind() != btf.Func {
			continue
		}
		functions++
		for _, m := range []*arch.Machine{arch.AMD64, arch.ARM64} {
			for _, isReturn := range []bool{false, true} {
				e := evaluator{function: f.Name(), isReturn: isReturn, machine: m, specs: []*btf.Spec{spec}, result: f.Target().Target(), params: place(f.Target(), m)}
				args, err := e.all()
				if err != nil {
					t.Errorf("%s: %v", f.Declare(f.Name()), err)
				}
				for _, a := range args {
					fetched++
					if _, err := ftrace.ParseKernelArgs(a.String()); err != nil {
						t.Errorf("%s: %v: %v", f.Declare(f.Name()), a, err)
					}
				}
			}
		}
	}
	t.Logf("%d functions, %d arguments", functions, fetched)
	if fetched < functions {
		t.Errorf("only %d arguments of %d functions", fetched, functions)
	}
}

// FuzzPath gives expressions to the fixture's types. Whatever comes of one must be
// in the kernel's grammar.
func FuzzPath(f *testing.F) {
	fuzzing.Bound(f)
	for function, paths := range expressions {
		for _, path := range paths {
			path, typ, _ := strings.Cut(path, ":")
			f.Add(function, path, typ)
		}
	}
	amd64, arm64 := fixtureTypes(arch.AMD64), fixtureTypes(arch.ARM64)
	f.Fuzz(func(t *testing.T, function, path, typ string) {
		if _, err := ftrace.ParseKernelArgs("a=+0($stack):" + typ); typ != "" && err != nil {
			return
		}
		for _, types := range []Types{amd64, arm64} {
			args, err := types.Fetch(Function{Name: function}, strings.Contains(path, "retval"), Arg{Path: path, Fetch: ftrace.FetchArg{Type: typ}})
			if err != nil {
				if syntax := (*ftrace.SyntaxError)(nil); errors.As(err, &syntax) && (syntax.Pos < 0 || syntax.Pos > len(path)) {
					t.Errorf("an error at %d of %q", syntax.Pos, path)
				}
				continue
			}
			for _, a := range args {
				if _, err := ftrace.ParseKernelArgs(a.String()); err != nil {
					t.Errorf("%q gives %q: %v", path, a, err)
				}
			}
		}
	})
}

func BenchmarkFetchAPathOfTheKernel(b *testing.B) {
	if _, err := os.Stat(btf.Dir + "/vmlinux"); err != nil {
		b.Skip("CONFIG_DEBUG_INFO_BTF")
	}
	for name, types := range map[string]func(Types) Types{
		"first": func(Types) Types { return KernelTypes("") },
		"again": func(t Types) Types { return t },
	} {
		b.Run(name, func(b *testing.B) {
			b.ReportAllocs()
			kept := KernelTypes("")
			for b.Loop() {
				if _, err := types(kept).Fetch(Function{Name: "vfs_open"}, false, Arg{Path: "path->dentry->d_name.name"}); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}
