package kprobe

import (
	"fmt"
	"os/exec"
	"regexp"
	"runtime"
	"strings"
	"testing"

	"github.com/ringtap/ringtap/ftrace"
	"github.com/ringtap/ringtap/internal/arch"
	"github.com/ringtap/ringtap/internal/testkit/compiled"
)

// A C compiler knows what an expression is and where arguments are passed. These
// tests translate what the kernel would fetch into C, and have a program compare it
// with the expression itself: inside of the function, whose registers and stack
// an assembler stub has kept.

// expressions are compared in each function. A type behind a colon is asked for.
var expressions = map[string][]string{
	"pointers": {
		"$args", "item", "name", "list", "buffer", "size", "item->id", "item->next", "item->next->next->id", "item->text.name", "item->text.hash",
		"item->text.len", "item->text.both", "item->text.name:string", "item->comm", "item->comm[1]", "&item->comm", "item->next->comm", "item->mac",
		"item->mac[2]", "item->mac:string", "item->bytes", "item->numbers", "item->numbers[4]", "item->texts[1].name", "item->texts[1].len",
		"item->items", "item->items[2]->id", "item->items[1]->next->comm", "item->names[1]", "item->tiny", "item->low", "item->mood", "item->flags",
		"item->ready", "item->bit_a", "item->bit_b", "item->bit_c", "item->wide", "item->rest", "item->yes", "item->no", "item->count.counter",
		"item->deep.outer.inner.id", "item->ops", "item->ops->open", "item->ops->close", "item->data", "item->long_array[99]", "item->long_array:u32[64]",
		"item->text_pointer", "item->flexible[1]", "item->flexible:s32[2]", "(*item).id", "(*item->next).comm", "*item->numbers", "(item)->id",
		"((struct item *)item->data)->id", "((item*)item->data)->comm", "((const struct item *)item->data)->next->id", "(struct item*)item->data",
		"((struct text *)item->data)->both", "(u8)item->id", "(unsigned short)item->id", "(unsigned int)item->numbers[1]", "(unsigned long)item",
		"(char *)item->data", "((long long *)item->data)[0]", "(*list)->id", "list[1]->id", "list[1]->comm", "*list", "(*(list[1])).next->low",
		"name:x8[3]", "name:u64", "item->next:u8[4]", "buffer:string", "size:x32", "item->id:x8[8]", "item->low:x16", "item->names[0]:x8[2]",
		"sk->sk_own", "sk->__sk_common.skc_daddr", "sk->__sk_common.skc_reuse", "sk->__sk_common.skc_more", "&item->id:u64", "&item->texts[1].both:x8[8]",
		"&item->sock.sk_own:x8[4]", "(&item->sock)->sk_own", "*&item->low", "(&item->numbers)[0][3]", "$arg1", "$arg6->sk_own",
	},
	"registers": {"$args", "i", "small.s", "small.t", "small.u", "pair.a", "pair.b", "pair.c", "pair.d", "flag", "c", "end", "(u8)i", "$arg1"},
	"overflow": {"a", "pair.a", "pair.d", "big.v[0]", "big.v[2]", "big.w", "big.x[3]", "big.x", "b", "second.a", "second.b", "second.c", "c", "tight.first", "tight.second",
		"small.s", "small.u", "either.number", "either.item", "d", "e", "(u16)e", "((struct item *)either.item)"},
	"wide":     {"a", "c", "p.a", "p.c", "d", "e", "g"},
	"variadic": {"format"},
}

func TestACompilerFetchesWhatAnExpressionIs(t *testing.T) {
	if runtime.GOARCH != "amd64" && runtime.GOARCH != "arm64" {
		t.Skip("amd64 or arm64")
	}
	compareByCompiler(t, arch.Here, "gcc")
}

func TestACrossCompilerFetchesWhatAnExpressionIsOnArm64(t *testing.T) {
	qemu, err := exec.LookPath("qemu-aarch64")
	if err != nil {
		t.Skip("qemu-aarch64 is not installed")
	}
	compareByCompiler(t, arch.ARM64, "aarch64-linux-gnu-gcc", qemu)
}

func compareByCompiler(t *testing.T, m *arch.Machine, compiler string, run ...string) {
	t.Helper()
	types := fixtureTypes(m)
	bodies := map[string]string{}
	for function, paths := range expressions {
		var body strings.Builder
		for _, path := range paths {
			path, typ, _ := strings.Cut(path, ":")
			arg := Arg{Path: path, Fetch: ftrace.FetchArg{Type: typ}}
			fetched, err := types.Fetch(Function{Name: function}, false, arg)
			if err != nil {
				t.Errorf("%s: %s: %v", function, path, err)
				continue
			}
			for _, a := range fetched {
				c := path
				if path == "$args" {
					c = wordOf.ReplaceAllString(a.Name, "((long *)&$1)[$2]")
				}
				body.WriteString(comparison(inC(c), a, m))
			}
		}
		bodies[function] = body.String()
	}
	source := strings.NewReplacer(
		"STUBS", stubs(m), "POINTERS", bodies["pointers"], "REGISTERS", bodies["registers"], "OVERFLOW", bodies["overflow"],
		"WIDE", bodies["wide"], "VARIADIC", bodies["variadic"]).Replace(compared)
	sources := compiled.Sources(t, "testdata/types/types.c")
	sources["c.c"] = source
	run = append(run, compiled.Program(t, sources, compiler, "-w", "-O1", "-static", "-fno-builtin", "-o", "c", "c.c"))
	out, err := exec.Command(run[0], run[1:]...).CombinedOutput()
	if err != nil {
		t.Errorf("%v\n%s", err, out)
	}
	var compared int
	if _, err := fmt.Sscanf(string(out), "compared %d", &compared); err == nil && compared < 140 {
		t.Errorf("only %d values were compared", compared)
	}
}

func fixtureTypes(m *arch.Machine) Types {
	types := KernelTypes("testdata/types").(*kernelTypes)
	types.machine = m
	return types
}

// wordOf is the name that $args gives to a word of a struct.
var wordOf = regexp.MustCompile(`^(.*)_([01])$`)

// inC is an expression as a compiler reads it.
func inC(path string) string {
	path = strings.NewReplacer("(item*)", "(struct item *)", "$arg1", "ARG1", "$arg6", "sk").Replace(path)
	return path
}

// comparison is C that compares an expression with what the kernel fetches.
func comparison(c string, a ftrace.FetchArg, m *arch.Machine) string {
	text := fmt.Sprintf("%q, %q", c, a.String())
	base, rest, isArray := strings.Cut(a.Type, "[")
	switch {
	case base == "string":
		return fmt.Sprintf("CHECK(!strcmp((char *)%s, (char *)(%s)), %s);\n", fetchedAddress(a.Fetch, m), c, text)
	case isArray:
		bytes := fmt.Sprintf("%s * sizeof(%s)", strings.TrimSuffix(rest, "]"), strings.Replace(base, "x", "u", 1))
		return fmt.Sprintf("CHECK(!memcmp((char *)%s, BYTES(%s), %s), %s);\n", fetchedAddress(a.Fetch, m), c, bytes, text)
	case strings.HasPrefix(base, "b"):
		var width, shift, size int
		fmt.Sscanf(base, "b%d@%d/%d", &width, &shift, &size)
		return fmt.Sprintf("CHECK(((u%d)%s >> %d & MASK(%d)) == ((u64)(%s) & MASK(%[4]d)), %[6]s);\n",
			size, fetchedValue(a.Fetch, fmt.Sprintf("u%d", size), m), shift, width, c, text)
	}
	typ := strings.Replace(strings.Replace(base, "symbol", "u64", 1), "x", "u", 1)
	return fmt.Sprintf("CHECK((%s)%s == (%[1]s)(%[3]s), %[4]s);\n", typ, fetchedValue(a.Fetch, typ, m), c, text)
}

// fetchedValue is what the kernel fetches, as C.
func fetchedValue(fetch, typ string, m *arch.Machine) string {
	if !strings.ContainsAny(fetch[:1], "+-") {
		return fetchedWord(fetch, m)
	}
	return fmt.Sprintf("*(%s *)%s", typ, fetchedAddress(fetch, m))
}

// fetchedAddress is where the outermost +OFFSET(…) reads.
func fetchedAddress(fetch string, m *arch.Machine) string {
	open := strings.IndexByte(fetch, '(')
	return fmt.Sprintf("(%s + %s)", fetchedValue(fetch[open+1:len(fetch)-1], "u64", m), fetch[:open])
}

// fetchedWord is $argN, as kernels find it at a function's entry, or $stack.
func fetchedWord(word string, m *arch.Machine) string {
	registers, first := 6, 1
	if m == arch.ARM64 {
		registers, first = 8, 0
	}
	if word == "$stack" {
		return "(u64)stack"
	}
	var n int
	fmt.Sscanf(word, "$arg%d", &n)
	if n > registers {
		return fmt.Sprintf("((u64 *)stack)[%d]", n-registers-1+first)
	}
	return fmt.Sprintf("kept[%d]", n-1)
}

// stubs keep the registers and the stack, and go on to the function proper.
func stubs(m *arch.Machine) string {
	stub := `asm(".text\nNAME_stub: movq %rdi, kept(%rip); movq %rsi, kept+8(%rip); movq %rdx, kept+16(%rip); movq %rcx, kept+24(%rip); ` +
		`movq %r8, kept+32(%rip); movq %r9, kept+40(%rip); movq %rsp, stack(%rip); jmp NAME_body");` + "\n"
	if m == arch.ARM64 {
		stub = `asm(".text\nNAME_stub: adrp x9, kept; add x9, x9, :lo12:kept; stp x0, x1, [x9]; stp x2, x3, [x9, 16]; stp x4, x5, [x9, 32]; ` +
			`stp x6, x7, [x9, 48]; mov x10, sp; adrp x9, stack; str x10, [x9, :lo12:stack]; b NAME_body");` + "\n"
	}
	var all strings.Builder
	for function := range expressions {
		all.WriteString(strings.ReplaceAll(stub, "NAME", function))
	}
	return all.String()
}

const compared = `
#include "types.c"
int printf(const char *, ...); int strcmp(const char *, const char *); int memcmp(const void *, const void *, size_t); void *memcpy(void *, const void *, size_t);
typedef u64 x64; typedef signed char s8; typedef short s16; typedef int s32; typedef long long s64;
u64 kept[8]; char *stack;
int bad, compared;
#define CHECK(ok, expression, fetched) (compared++, (ok) ? 0 : (bad++, printf("%s is not %s\n", expression, fetched)))
#define MASK(width) ((1ull << (width)) - 1)
/* The bytes that an array has, a pointer leads to, or a number is of. */
#define IS_POINTER(x) (__builtin_classify_type(x) == 5)
#define BYTES(x) (IS_POINTER(x) ? (void *)(u64)(x) : (void *)&(u64){(u64)(x)})
STUBS
struct item items[4] = {
	{ .id = 0x1122334455667788, .next = &items[1], .text = { .hash = 7, .len = 5, .name = "first" }, .comm = "zero", .mac = "\1\2\3\4", .bytes = { 9, 8, 7, 6 },
	  .numbers = { 1, -2, 3, -4, 5 }, .texts = { { .len = 1, .name = "a" }, { .len = 2, .name = "bc" } }, .items = { &items[1], &items[2], &items[3] },
	  .names = { "one", "two" }, .tiny = -7, .low = -300, .mood = ANGRY, .flags = FLAG_B, .ready = 1, .bit_a = 5, .bit_b = 1234, .bit_c = 200000,
	  .wide = 0x1234567890, .rest = 0x5a5a5a5, .yes = 1, .no = 0, .count = { -77 }, .deep.outer.inner.id = 4711, .data = &items[2],
	  .text_pointer = "pointed", .long_array = { 3, 2, 1 }, .sock = { { 1, 2, 3, 1 }, 99 } },
	{ .id = 2, .next = &items[2], .comm = "one" }, { .id = 3, .next = &items[3], .comm = "two", .text.name = "third" }, { .id = 4, .next = items, .comm = "three", .low = 12 },
};
struct ops ops;
struct { struct item item; int flexible[4]; } with_flexible;
struct item *list[] = { &items[1], &items[2] };
struct sock sock = { { 0x0100007f, 80, 9, 1 }, -5 };

#define ARG1 item
long pointers_body(struct item *item, const char *name, struct item **list, char *buffer, size_t size, struct sock *sk) { POINTERS return 0; }
#undef ARG1
#define ARG1 i
struct pair registers_body(int i, struct small small, struct pair pair, bool_t flag, unsigned char c, long end) { REGISTERS return pair; }
struct big overflow_body(u32 a, struct pair pair, struct big big, long b, struct pair second, int c, struct tight tight, struct small small, union either either, u8 d, u64 e) { OVERFLOW return big; }
int wide_body(u8 a, __int128 b, int c, struct pair p, long d, int e, __int128 f, short g) { WIDE return 0; }
int variadic_body(const char *format, ...) { VARIADIC return 0; }

__typeof__(pointers_body) pointers_stub; __typeof__(registers_body) registers_stub; __typeof__(overflow_body) overflow_stub;
__typeof__(wide_body) wide_stub; __typeof__(variadic_body) variadic_stub;

int main(void)
{
	struct pair pair = { 0x123456789abc, -55, 'p', 200 }, second = { -9, 44, 's', 100 };
	struct small small = { -1234, 55, 66 };
	struct big big = { { 11, 22, 33 }, -44, { 5, 6, 7, 8 } };
	struct tight tight = { 77, 0xfeedbeef };
	union either either = { .item = &items[3] };
	with_flexible.item = items[0]; with_flexible.flexible[0] = 5; with_flexible.flexible[1] = -6;
	with_flexible.item.long_array[99] = 0xabcdef; with_flexible.item.ops = &ops;
	ops.open = (void *)printf; ops.close = nothing;
	pointers_stub(&with_flexible.item, "a name", list, "a buffer", 4096, &sock);
	registers_stub(-3, small, pair, 1, 250, 0x1234567890abcdef);
	overflow_stub(0xfffffff0, pair, big, -5, second, -6, tight, small, either, 254, 0xfedcba9876543210);
	wide_stub(200, 5, -8, pair, 0x7777777777, -9, 6, -1000);
	variadic_stub("format %s", "x");
	printf("compared %d\n", compared);
	return bad != 0;
}
`
