package printfmt

import (
	"encoding/binary"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/ringtap/ringtap/ftrace"
)

// printed prints a record of 64 bytes by a print format over these fields:
// i = -5 (int), u = 0xfedcba98 (u32), b = 200 (u8), l = 1<<40+3 (u64),
// p = 0xffffffff81000010, text = "abc", mac, ip4, ip6 and name, a string.
func printed(t *testing.T, printFmt string) string {
	t.Helper()
	f := &ftrace.Format{System: "test", Name: "event", PrintFmt: printFmt, Fields: append(commonFields(),
		ftrace.Field{Name: "i", Type: "int", Offset: 8, Size: 4, ElemSize: 4, Signed: true},
		ftrace.Field{Name: "u", Type: "u32", Offset: 12, Size: 4, ElemSize: 4},
		ftrace.Field{Name: "l", Type: "u64", Offset: 16, Size: 8, ElemSize: 8},
		ftrace.Field{Name: "p", Type: "void *", Offset: 24, Size: 8, ElemSize: 8},
		ftrace.Field{Name: "b", Type: "u8", Offset: 32, Size: 1, ElemSize: 1},
		ftrace.Field{Name: "text", Type: "char", Offset: 33, Size: 7, ElemSize: 1, Length: 7, Array: true, String: true, Signed: true},
		ftrace.Field{Name: "name", Type: "char", Offset: 40, Size: 4, ElemSize: 1, Location: ftrace.DataLoc, Array: true, String: true},
		ftrace.Field{Name: "words", Type: "u16", Offset: 44, Size: 4, ElemSize: 2, Length: 2, Array: true},
		ftrace.Field{Name: "bytes", Type: "u8", Offset: 48, Size: 16, ElemSize: 1, Length: 16, Array: true},
		ftrace.Field{Name: "flag", Type: "bool", Offset: 64, Size: 1, ElemSize: 1},
		ftrace.Field{Name: "dyn", Type: "u32", Offset: 68, Size: 4, ElemSize: 4, Location: ftrace.DataLoc, Array: true},
		ftrace.Field{Name: "sa", Type: "u8", Offset: 72, Size: 28, ElemSize: 1, Length: 28, Array: true},
	)}
	raw := make([]byte, 120)
	le := binary.LittleEndian
	le.PutUint32(raw[4:], 4711) // common_pid
	le.PutUint32(raw[8:], 0xfffffffb)
	le.PutUint32(raw[12:], 0xfedcba98)
	le.PutUint64(raw[16:], 1<<40+3)
	le.PutUint64(raw[24:], 0xffffffff81000010)
	raw[32], raw[64] = 200, 1
	copy(raw[33:], "abc")
	le.PutUint32(raw[40:], 6<<16|100)
	le.PutUint32(raw[44:], 0x00020001)
	copy(raw[48:], "\xfe\x80\x00\x00\x00\x00\x00\x00\x00\x00\x12\x34\x00\x00\x00\x01")
	le.PutUint32(raw[68:], 8<<16|108)
	copy(raw[72:], "\x0a\x00\x1f\x90\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x01")
	copy(raw[100:], "h\x1bllo\x00")
	le.PutUint64(raw[108:], 0xfffffffe<<32|7)
	p, err := New(f, Options{
		KernelSymbol: func(addr uint64) (string, uint64, uint64, string, bool) {
			return "do_it", addr & 0xff, 0x40, "mod", addr>>32 == 0xffffffff
		},
		Constant: func(name string) (int64, bool) { return 200, name == "TWO_HUNDRED" },
	})
	if err != nil {
		t.Fatal(err)
	}
	if err := p.Fallback(); err != nil {
		return err.Error()
	}
	return string(p.Append(nil, raw))
}

// The expected texts follow from lib/vsprintf.c and kernel/trace/trace_output.c,
// and from the rules of C for what is calculated.
func TestPrinterFollowsTheKernelsRules(t *testing.T) {
	for _, test := range []struct{ name, format, want string }{
		{"widths and flags", `"%d|%5d|%-5d|%05d|%+d|% d", REC->i, REC->i, REC->i, REC->i, REC->b, REC->b`, "-5|   -5|-5   |-0005|+200| 200"},
		{"hexadecimal and octal", `"%x %X %#x %#08x %#o %o", REC->u, REC->u, 0, REC->b, REC->b, 0`, "fedcba98 FEDCBA98 0x0 0x0000c8 0310 0"},
		{"sizes cut what does not fit", `"%hhu %hd %u %llu %hhd", REC->u, REC->u, REC->l, REC->l, REC->b`, "152 -17768 3 1099511627779 -56"},
		{"a sign is extended", `"%lx %llx %ld", (unsigned long)REC->i, (long long)REC->i, REC->i`, "fffffffffffffffb fffffffffffffffb -5"},
		{"precision of numbers", `"%.3d %6.3d %.0d", 7, -7, 0`, "007   -007 0"},
		{"strings", `"[%s] [%5s] [%-5s] [%.2s] [%.*s]", REC->text, REC->text, REC->text, REC->text, 1, REC->text`, "[abc] [  abc] [abc  ] [ab] [a]"},
		{"hostile strings count as the kernel counts", `"%s [%7s]", __get_str(name), __get_str(name)`, `h\x1bllo [  h\x1bllo]`},
		{"characters", `"%c%c%3c", REC->b, 'x', 'y'`, `\xc8x  y`},
		{"percent", `"100%% %d%%", 5`, "100% 5%"},
		{"pointers", `"%p %px %lx", REC->p, ((void *)0), REC->p`, "ffffffff81000010 0000000000000000 ffffffff81000010"},
		{"symbols", `"%pS %ps %pS", REC->p, REC->p, (void *)REC->l`, "do_it+0x10/0x40 [mod] do_it [mod] 0x10000000003"},
		{"null", `"%s %s", REC->i ? ((void *)0) : "x", REC->l == 0 ? "y" : __get_str(name) + 2`, "(null) llo"},
		{"addresses of the network", `"%pI4 %pi4 %pI6 %pI6c %pISpc %pM %pm", REC->bytes, REC->bytes, REC->bytes, REC->bytes, REC->sa, REC->bytes, REC->bytes`,
			"254.128.0.0 254.128.000.000 fe80:0000:0000:0000:0000:1234:0000:0001 fe80::1234:0:1 [::1]:8080 fe:80:00:00:00:00 fe8000000000"},
		{"identifiers", `"%pU %pUL", REC->bytes, REC->bytes`, "fe800000-0000-0000-0000-123400000001 000080FE-0000-0000-0000-123400000001"},
		{"bits", `"%*pbl %*pb %16pbl", 16, REC->bytes, 12, REC->bytes, REC->bytes`, "1-7,15 0fe 1-7,15"},
		{"bytes", `"%*ph %*phN", 3, REC->bytes, 2, REC->bytes`, "fe 80 00 fe80"},
		{"helpers for bytes", `"%s %s %s %s", __print_hex(REC->bytes, 2), __print_hex_str(REC->bytes, 2), __print_array(REC->words, 2, 2), __print_array(__get_dynamic_array(dyn), __get_dynamic_array_len(dyn) / sizeof(u32), sizeof(u32))`,
			"fe 80 fe80 {0x1,0x2} {0x7,0xfffffffe}"},
		{"addresses of elements", `"%s %s", __print_hex(&REC->bytes[1], 2), __print_hex(&__get_str(name)[2], 2)`, "80 00 6c 6c"},
		{"the record's header", `"%d %d", REC->ent.pid, REC->ent.type`, "4711 0"},
		{"masks", `"%s %s", __get_bitmask(dyn), __print_dynamic_array(dyn, 4)`, "fffffffe,00000007 {0x7,0xfffffffe}"},
		{"flags", `"%s %s %s", __print_flags(REC->b, "|", {8, "EIGHT"}, {0xc0, "HIGH"}, {4, "FOUR"}), __print_flags(0, "|", {1, "A"}), __print_flags(REC->b & 7, "", {UNKNOWN, "X"})`, "EIGHT|HIGH  "},
		{"flags that have no name", `"%s %s", __print_flags(REC->b, "|", {8, "EIGHT"}), __print_flags(0x30, ":", {0x100, "X"})`, "EIGHT|0xc0 0x30"},
		{"symbolic", `"%s %s %s", __print_symbolic(REC->b, {TWO_HUNDRED, "two hundred"}), __print_symbolic(REC->i, {-5, "minus five"}), __print_symbolic(REC->i, {5, "five"})`, "two hundred minus five 0xfffffffffffffffb"},
		{"arithmetic of C", `"%d %u %d %d %d %lld", 7 / -2, -7 / 2u, -7 % 3, 1 << 31 >> 31, ~0, 1ULL << 40`, "-3 2147483644 -1 -1 -1 1099511627776"},
		{"precedence", `"%d %d %d %d %d", 1 + 2 * 3 - 4, 1 | 2 & 6 ^ 1, 1 == 1 && 0 || 2 > 1, 10 - 2 - 3, !1 == 0`, "3 3 1 5 1"},
		{"comparison with a sign", `"%d %d", REC->i < 0, REC->i < 1u`, "1 0"},
		{"narrow types become int", `"%d %d %x", REC->b + 100, -REC->b, ~REC->b`, "300 -200 ffffff37"},
		{"casts", `"%d %d %u %d", (u8)REC->u, (s8)REC->u, (unsigned short)REC->u, (bool)REC->l`, "152 -104 47768 1"},
		{"elements", `"%d %x %c", REC->words[1], REC->bytes[0], __get_str(name)[2]`, "2 fe l"},
		{"conditions", `"%s%s", REC->flag ? "yes" : "no", REC->b > 300 ? " big" : REC->b > 100 ? " middle" : " small"`, "yes middle"},
		{"statements", `"%d", ({ int a = (REC->i); int b = (128); ((a) < (b) ? (a) : (b)); })`, "-5"},
		{"nanoseconds", `"%llu.%09u", __print_ns_to_secs(REC->l), __print_ns_without_secs(REC->l)`, "1099.511627779"},
		{"joined strings", `"a" "b %s", "c" "d"`, "ab cd"},
		{"quotes in the format", `"he says "%s"", REC->text`, `he says "abc"`},
		{"variables of the kernel", `"%lu %p", (jiffies - REC->l) / 250, (((struct page *)vmemmap_base) + (REC->l))`, "? ?"},
		{"where arm64 keeps what describes a page", `"%p %d", (((struct page *)(-((((1UL))) << ((48) - (12 - (( __builtin_constant_p(sizeof(struct page)) ? ( ((sizeof(struct page)) == 0 || (sizeof(struct page)) == 1) ? 0 : ( __builtin_constant_p((sizeof(struct page)) - 1) ? (((sizeof(struct page)) - 1) < 2 ? 0 : 63 - __builtin_clzll((sizeof(struct page)) - 1)) : (sizeof((sizeof(struct page)) - 1) <= 4) ? __ilog2_u32((sizeof(struct page)) - 1) : __ilog2_u64((sizeof(struct page)) - 1) ) + 1) : __order_base_2(sizeof(struct page)) )))))) - (memstart_addr >> 12)) + (REC->l)), REC->b`, "? 200"},
		{"a value or else another", `"%s %d %d", REC->text ?: "none", REC->b ?: 7, REC->b - 200 ?: 7`, "abc 200 7"},
		{"expectations", `"%d", __builtin_expect(!!((unsigned long)(void *)(REC->p) >= (unsigned long)-4095), 0) ? 1 : 2`, "2"},
		{"a division by zero has no value", `"%d", 1 / 0`, "?"},
		{"lines within", `"a\n\tb"`, "a\n\tb"},
	} {
		t.Run(test.name, func(t *testing.T) {
			if got := printed(t, test.format); got != test.want {
				t.Errorf("%s\n got  %q\n want %q", test.format, got, test.want)
			}
		})
	}
}

func TestPrinterListsFieldsWhereThePrintFormatCannotBeFollowed(t *testing.T) {
	for _, test := range []struct{ name, format string }{
		{"nothing", ``},
		{"a string that does not end", `"%d`},
		{"a function that nobody knows", `"%d", frobnicate(REC->i)`},
		{"a field that is not there", `"%d", REC->nothing`},
		{"too few arguments", `"%d %d", REC->i`},
		{"too many arguments", `"%d", REC->i, REC->u`},
		{"a conversion that nobody knows", `"%y", REC->i`},
		{"a name that nobody knows", `"%d", REC->i == SOMETHING`},
		{"parentheses without end", `"%d", ` + strings.Repeat("(", 100000)},
		{"operators without end", `"%d", ` + strings.Repeat("-", 100000) + "1"},
	} {
		t.Run(test.name, func(t *testing.T) {
			f := &ftrace.Format{System: "s", Name: "e", PrintFmt: test.format, Fields: append(commonFields(),
				ftrace.Field{Name: "i", Type: "int", Offset: 8, Size: 4, ElemSize: 4, Signed: true},
				ftrace.Field{Name: "u", Type: "u32", Offset: 12, Size: 4, ElemSize: 4})}
			p, err := New(f, Options{})
			if err != nil {
				t.Fatal(err)
			}
			if p.Fallback() == nil {
				t.Error("no reason")
			}
			raw := []byte{0, 0, 0, 0, 0, 0, 0, 0, 0xff, 0xff, 0xff, 0xff, 7, 0, 0, 0}
			if got := string(p.Append(nil, raw)); got != "i=-1 u=7" {
				t.Errorf("Append = %q", got)
			}
		})
	}
}

func TestPrinterRefusesFieldsOutsideOfAnyRecord(t *testing.T) {
	f := &ftrace.Format{Name: "e", PrintFmt: `"%d", REC->a`, Fields: []ftrace.Field{{Name: "a", Offset: -1, Size: 4}}}
	if _, err := New(f, Options{}); err == nil {
		t.Error("no error")
	}
}

// testFormats are the formats that testdata holds.
func testFormats(t testing.TB) (formats []*ftrace.Format) {
	t.Helper()
	paths, err := filepath.Glob("../testdata/formats/*")
	if err != nil || len(paths) == 0 {
		t.Fatal(len(paths), err)
	}
	for _, path := range paths {
		text, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		f, err := ftrace.ParseFormat(text)
		if err != nil {
			t.Fatal(err)
		}
		f.System, _, _ = strings.Cut(filepath.Base(path), ".")
		formats = append(formats, f)
	}
	return formats
}

func TestLinesAreAppendedWithoutAllocating(t *testing.T) {
	for _, f := range testFormats(t) {
		p, err := New(f, Options{})
		if err != nil {
			t.Fatal(err)
		}
		raw, line := make([]byte, 256), make([]byte, 0, 4096)
		if n := testing.AllocsPerRun(100, func() { line = AppendLine(line[:0], []byte("comm"), 1, 0, 0, raw, f, p) }); n != 0 {
			t.Errorf("%s: %v allocations", f.Name, n)
		}
	}
}

func TestReadConstantsReadsEnumerators(t *testing.T) {
	constants, err := ReadConstants(enumBTF())
	if err != nil || len(constants) != 2 || constants["A"] != -1 || constants["B"] != 2 {
		t.Errorf("ReadConstants = %v, %v", constants, err)
	}
	if _, err := ReadConstants([]byte("nothing of the kind at all")); !errors.Is(err, ErrNotBTF) {
		t.Errorf("no BTF: %v", err)
	}
}

func BenchmarkAppendLineOfAUserProbe(b *testing.B) {
	f := ftrace.UprobeFormat("uprobes", "readline", false)
	f.Fields = append(f.Fields,
		ftrace.Field{Name: "arg1", Type: "u64", Offset: 16, Size: 8, ElemSize: 8},
		ftrace.Field{Name: "arg2", Type: "char", Offset: 24, Size: 4, ElemSize: 1, Location: ftrace.DataLoc, Array: true, String: true})
	f.PrintFmt = `"(%lx) arg1=0x%Lx arg2=\"%s\"", REC->__probe_ip, REC->arg1, __get_str(arg2)`
	benchmarkLine(b, f, append(binary.LittleEndian.AppendUint32(append(make([]byte, 16), 1, 2, 3, 4, 5, 6, 7, 8), 14<<16|28), "ls -l /usr/bin\x00"...))
}

func BenchmarkAppendLineOfASwitch(b *testing.B) {
	text, err := os.ReadFile("../testdata/formats/sched.sched_switch")
	if err != nil {
		b.Fatal(err)
	}
	f, err := ftrace.ParseFormat(text)
	if err != nil {
		b.Fatal(err)
	}
	benchmarkLine(b, f, make([]byte, 64))
}

func benchmarkLine(b *testing.B, f *ftrace.Format, raw []byte) {
	p, err := New(f, Options{})
	if err != nil || p.Fallback() != nil {
		b.Fatal(err, p.Fallback())
	}
	line := make([]byte, 0, 4096)
	comm := []byte("bash")
	b.ReportAllocs()
	for i := 0; b.Loop(); i++ {
		line = AppendLine(line[:0], comm, 1875, 1, 521188474000+uint64(i), raw, f, p)
	}
	if testing.Verbose() {
		b.Logf("%s", line)
	}
}
