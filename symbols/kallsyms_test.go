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
