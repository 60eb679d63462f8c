package symbols

import (
	"bufio"
	"bytes"
	"errors"
	"os"
	"strconv"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// kallsymsText has what real files have: aliases, data, marks of the linker
// script, two modules and a BPF program behind the kernel and out of order.
const kallsymsText = `ffffffff81000000 T _stext
ffffffff81000000 T startup_64
ffffffff81000040 t helper.isra.0
ffffffff81000080 T __do_sys_write
ffffffff81000080 T ksys_write
ffffffff81000080 t ksys_write.localalias
ffffffff81000100 W arch_idle
ffffffff81000180 t helper.isra.0.cold
ffffffff810001c0 T _etext
ffffffff82000000 D jiffies
ffffffff83000000 T _sinittext
ffffffff83000000 t init_one
ffffffff83000010 T _einittext
ffffffffc0002000 t second_init	[second]
ffffffffc0002010 t second_last	[second]
ffffffffc0000000 t first_init	[first]
ffffffffc0000020 t first_last	[first]
ffffffffc0000030 d first_data	[first]
ffffffffc0900000 t bpf_prog_6deef7357e7b4530_sd	[bpf]
ffffffffc0a00000 t ftrace_trampoline	[__builtin__ftrace]
`

func TestKallsymsLookup(t *testing.T) {
	k, err := ReadKallsyms(strings.NewReader(kallsymsText))
	if err != nil {
		t.Fatal(err)
	}
	tests := []struct {
		addr         uint64
		name, module string
	}{
		{0xffffffff80ffffff, "", ""},
		{0xffffffff81000000, "startup_64", ""},
		{0xffffffff8100003f, "startup_64", ""},
		{0xffffffff81000040, "helper.isra.0", ""},
		{0xffffffff81000080, "ksys_write", ""},
		{0xffffffff81000100, "arch_idle", ""},
		{0xffffffff810001bf, "helper.isra.0.cold", ""},
		{0xffffffff810001c0, "", ""}, // behind _etext
		{0xffffffff82000000, "", ""}, // data
		{0xffffffff83000008, "init_one", ""},
		{0xffffffff83000010, "", ""},
		{0xffffffffc0000000, "first_init", "first"},
		{0xffffffffc000002f, "first_last", "first"},
		{0xffffffffc0000030, "", ""},
		{0xffffffffc0001fff, "", ""}, // between two modules
		{0xffffffffc0002005, "second_init", "second"},
		{0xffffffffc0002fff, "second_last", "second"},
		{0xffffffffc0010000, "", ""},
		{0xffffffffc0900010, "bpf_prog_6deef7357e7b4530_sd", "bpf"},
		{0xffffffffc0a00000, "ftrace_trampoline", "__builtin__ftrace"},
		{0xffffffffffffffff, "", ""},
		{0, "", ""},
	}
	for _, tt := range tests {
		s, ok := k.Lookup(tt.addr)
		if ok != (tt.name != "") || s.Name != tt.name || s.Module != tt.module {
			t.Errorf("Lookup(%#x) = %+v, %v, want %q of module %q", tt.addr, s, ok, tt.name, tt.module)
		}
		if ok && (tt.addr < s.Start || tt.addr-s.Start >= s.Size) {
			t.Errorf("Lookup(%#x) = %+v, which does not cover it", tt.addr, s)
		}
	}
}

func TestKallsymsErrors(t *testing.T) {
	hidden := strings.NewReader("0000000000000000 T _stext\n0000000000000000 t helper\n")
	if _, err := ReadKallsyms(hidden); !errors.Is(err, ErrAddressesHidden) {
		t.Errorf("hidden addresses: %v, want %v", err, ErrAddressesHidden)
	}
	for _, text := range []string{
		"", "x", "ffffffff81000000 T", "ffffffff81000000 T \n", "ffffffff81000000Tname\n",
		" T name\n", "fffffffff81000000 T name\n", "1 T " + strings.Repeat("x", 64<<10),
	} {
		if _, err := ReadKallsyms(strings.NewReader(text)); err == nil || errors.Is(err, ErrAddressesHidden) {
			t.Errorf("ReadKallsyms(%.40q) = %v, want an error of form", text, err)
		}
	}
	if _, err := ReadKallsyms(strings.NewReader("10 T a\nnonsense\n")); err == nil || !strings.Contains(err.Error(), "line 2") {
		t.Errorf("got %v, want the number of the line", err)
	}
}

// readKallsyms returns the running kernel's symbols, or skips.
func readKallsyms(t testing.TB) []byte {
	t.Helper()
	text, err := os.ReadFile("/proc/kallsyms")
	if err != nil {
		t.Skip("no /proc/kallsyms")
	}
	if _, err := ReadKallsyms(bytes.NewReader(text)); errors.Is(err, ErrAddressesHidden) {
		t.Skip("kernel addresses are hidden")
	}
	return text
}

func TestLiveEveryKernelFunctionIsFound(t *testing.T) {
	text := readKallsyms(t)
	k, err := ReadKallsyms(bytes.NewReader(text))
	if err != nil {
		t.Fatal(err)
	}
	named := map[uint64]map[string]bool{}
	lines := bufio.NewScanner(bytes.NewReader(text))
	for lines.Scan() {
		f := strings.Fields(lines.Text())
		if !strings.Contains("TtWw", f[1]) || f[2] == "_etext" || f[2] == "_einittext" {
			continue
		}
		addr, err := strconv.ParseUint(f[0], 16, 64)
		if err != nil {
			t.Fatal(err)
		}
		if named[addr] == nil {
			named[addr] = map[string]bool{}
		}
		named[addr][f[2]] = true
	}
	for addr, names := range named {
		if s, ok := k.Lookup(addr); !ok || s.Start != addr || !names[s.Name] {
			t.Fatalf("Lookup(%#x) = %+v, %v, want one of %v", addr, s, ok, names)
		}
	}
	if k.Len() != len(named) || k.Len() < 10000 {
		t.Errorf("%d functions, the file has %d", k.Len(), len(named))
	}
}

func TestSymbolsAreReadAsTheKernelWritesThem(t *testing.T) {
	const text = "ffffffff81000000 T _text\n" +
		"ffffffff81b49950 T vfs_read\n" +
		"ffffffff82000000 D jiffies\n" +
		"ffffffffc0001000 t nfs_open\t[nfs]\n" +
		"ffffffff81cef70 t odd]\n"
	type line struct {
		Address      uint64
		Kind         byte
		Name, Module string
	}
	var got []line
	err := EachKernelSymbol(strings.NewReader(text), func(s *KernelSymbol) error {
		got = append(got, line{s.Address, s.Type, string(s.Name), string(s.Module)})
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	want := []line{
		{0xffffffff81000000, 'T', "_text", ""},
		{0xffffffff81b49950, 'T', "vfs_read", ""},
		{0xffffffff82000000, 'D', "jiffies", ""},
		{0xffffffffc0001000, 't', "nfs_open", "nfs"},
		{0xffffffff81cef70, 't', "odd]", ""},
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("want -, got +:\n%s", diff)
	}
}

// TestFoundKernelFunctionsAreThoseOfTheWholeTable asks for every set of few addresses.
func TestFoundKernelFunctionsAreThoseOfTheWholeTable(t *testing.T) {
	whole, err := ReadKallsyms(strings.NewReader(kallsymsText))
	if err != nil {
		t.Fatal(err)
	}
	// arm64 has its modules below the kernel, and per-CPU symbols at the beginning.
	const below = "0000000000000000 A __per_cpu_start\n0000000000001000 A __per_cpu_end\n" +
		"ffff800080000000 T _stext\nffff800080000010 T start\nffff800080000100 t end\nffff800081000000 D data\n" +
		"ffff80007a000000 t mod_init\t[mod]\nffff80007a000010 t mod_exit\t[mod]\nffff80007a001000 t bpf_prog\t[bpf]\n"
	wholeBelow, err := ReadKallsyms(strings.NewReader(below))
	if err != nil {
		t.Fatal(err)
	}
	for _, test := range []struct {
		text  string
		whole *Kallsyms
	}{{kallsymsText, whole}, {below, wholeBelow}} {
		var addrs []uint64
		for l := range strings.Lines(test.text) {
			addr, err := strconv.ParseUint(l[:16], 16, 64)
			if err != nil {
				t.Fatal(err)
			}
			addrs = append(addrs, addr-1, addr, addr+1, addr+0x800, addr+0x1500)
		}
		for i, x := range addrs {
			for _, y := range addrs[i:] {
				k, err := FindKallsyms(strings.NewReader(test.text), []uint64{y, x, x})
				if err != nil {
					t.Fatal(err)
				}
				for _, addr := range []uint64{x, y} {
					want, wanted := test.whole.Lookup(addr)
					if got, ok := k.Lookup(addr); got != want || ok != wanted {
						t.Fatalf("of %#x and %#x, Lookup(%#x) = %+v, %v; the whole table has %+v, %v", x, y, addr, got, ok, want, wanted)
					}
				}
			}
		}
	}
}

func TestFindKallsymsErrors(t *testing.T) {
	hidden := strings.NewReader("0000000000000000 T _stext\n0000000000000000 t helper\n")
	if _, err := FindKallsyms(hidden, []uint64{0xffffffff81000000}); !errors.Is(err, ErrAddressesHidden) {
		t.Errorf("hidden addresses: %v, want %v", err, ErrAddressesHidden)
	}
	for _, text := range []string{"", "nonsense", "10 T a\nnonsense\n"} {
		if _, err := FindKallsyms(strings.NewReader(text), []uint64{0x1000}); err == nil {
			t.Errorf("FindKallsyms(%q) has no error", text)
		}
	}
}

func TestLiveFoundKernelFunctionsAreThoseOfTheWholeTable(t *testing.T) {
	text := readKallsyms(t)
	whole, err := ReadKallsyms(bytes.NewReader(text))
	if err != nil {
		t.Fatal(err)
	}
	var addrs []uint64
	for i, e := range whole.table.entries {
		if i%101 == 0 {
			addrs = append(addrs, e.addr, e.addr+uint64(e.size)/2, e.addr+uint64(e.size)-1, e.addr+uint64(e.size))
		}
	}
	k, err := FindKallsyms(bytes.NewReader(text), addrs)
	if err != nil {
		t.Fatal(err)
	}
	for _, addr := range addrs {
		want, wanted := whole.Lookup(addr)
		if got, ok := k.Lookup(addr); got != want || ok != wanted {
			t.Errorf("Lookup(%#x) = %+v, %v; the whole table has %+v, %v", addr, got, ok, want, wanted)
		}
	}
}

func BenchmarkFindKallsyms(b *testing.B) {
	text := readKallsyms(b)
	whole, err := ReadKallsyms(bytes.NewReader(text))
	if err != nil {
		b.Fatal(err)
	}
	var addrs []uint64
	for i := range 300 {
		addrs = append(addrs, whole.table.entries[i*len(whole.table.entries)/300].addr+1)
	}
	b.SetBytes(int64(len(text)))
	b.ReportAllocs()
	for b.Loop() {
		if _, err := FindKallsyms(bytes.NewReader(text), addrs); err != nil {
			b.Fatal(err)
		}
	}
}
