package recordedkernel

import (
	"bytes"
	"debug/elf"
	"encoding/binary"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
	"testing/iotest"

	"github.com/ringtap/ringtap/internal/host/proc"
	"github.com/ringtap/ringtap/internal/object/buildid"
	"github.com/ringtap/ringtap/internal/testkit/compiled"
	"github.com/ringtap/ringtap/internal/testkit/fuzzing"
	"github.com/ringtap/ringtap/internal/testkit/perfrecord"
	"github.com/ringtap/ringtap/symbols"
)

// fixture is the kernel's symbols as x86-64 has them.
const fixture = `0000000000000000 A fixed_percpu_data
000000000001f000 A cpu_info
ffffffff81000000 T startup_64
ffffffff81000000 T _stext
ffffffff81000000 T _text
ffffffff81000040 t verify_cpu
ffffffff82000000 D init_task
ffffffffc0400000 t nft_do_chain	[nf_tables]
ffffffffc0500000 t snd_pcm_open	[snd_pcm]
ffffffffc0600000 t bpf_prog_6deef7357e7b4530	[bpf]
`

// recorded is the kernel of a recording. No machine has its build id.
var recorded = []byte{0x12, 0x34, 0x56, 0x78, 0x9a, 0xbc, 0xde, 0xf0}

// cached returns perf's cache with that text for the recorded kernel.
func cached(t *testing.T, text string) buildid.Files {
	t.Helper()
	cache := t.TempDir()
	dir := filepath.Join(cache, "[kernel.kallsyms]", hex.EncodeToString(recorded))
	if err := os.MkdirAll(dir, 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(dir+"/kallsyms", []byte(text), 0o644); err != nil {
		t.Fatal(err)
	}
	return buildid.Files{Cache: cache}
}

// read returns the text of a kernel's symbols.
func read(t *testing.T, k *Kernel, files buildid.Files) (string, error) {
	t.Helper()
	text, err := k.Open(files)
	if err != nil {
		return "", err
	}
	defer text.Close()
	b, err := io.ReadAll(text)
	return string(b), err
}

func TestAddressesAreThoseOfTheRecording(t *testing.T) {
	for name, test := range map[string]struct {
		symbol  string
		address uint64
		want    string
	}{
		"the kernel was higher": {"_text", 0xffffffff9f200000, `0000000000000000 A fixed_percpu_data
000000000001f000 A cpu_info
ffffffff9f200000 T startup_64
ffffffff9f200000 T _stext
ffffffff9f200000 T _text
ffffffff9f200040 t verify_cpu
ffffffffa0200000 D init_task
`},
		"the kernel was lower": {"_stext", 0xffffffff80c00000, `0000000000000000 A fixed_percpu_data
000000000001f000 A cpu_info
ffffffff80c00000 T startup_64
ffffffff80c00000 T _stext
ffffffff80c00000 T _text
ffffffff80c00040 t verify_cpu
ffffffff81c00000 D init_task
`},
		"another symbol was recorded": {"verify_cpu", 0xffffffff81000041, `0000000000000000 A fixed_percpu_data
000000000001f000 A cpu_info
ffffffff81000001 T startup_64
ffffffff81000001 T _stext
ffffffff81000001 T _text
ffffffff81000041 t verify_cpu
ffffffff82000001 D init_task
`},
		"the kernel has not moved": {"_text", 0xffffffff81000000, fixture[:strings.Index(fixture, "ffffffffc04")]},
	} {
		k := Kernel{BuildID: recorded, Symbol: test.symbol, Address: test.address}
		if got, err := read(t, &k, cached(t, fixture)); err != nil || got != test.want {
			t.Errorf("%s: %v\n%s", name, err, got)
		}
	}
}

func TestModulesStayIfTheyAreLoadedWhereTheyWere(t *testing.T) {
	// nf_tables is where it was, snd_pcm is not, and xfs was not recorded.
	const modules = `nf_tables 286720 0 - Live 0xffffffffc03ff000
snd_pcm 167936 2 snd_hda_intel,snd_hda_codec, Live 0xffffffffc0500000
xfs 1 0 - Live 0xffffffffc0700000
`
	k := Kernel{Symbol: "_text", Address: 0xffffffff81000000,
		Modules: map[string]uint64{"nf_tables": 0xffffffffc03ff000, "snd_pcm": 0xffffffffc0511000}}
	for _, test := range []struct {
		address uint64
		modules string
		want    bool
	}{
		{0xffffffff81000000, modules, true},
		{0xffffffff81200000, modules, false}, // it has moved
		{0xffffffff81000000, strings.ReplaceAll(modules, "0xffffffffc03ff000", "0x0000000000000000"), false}, // hidden
		{0xffffffff81000000, "", false},
	} {
		k.Address = test.address
		text, err := k.shift("", io.NopCloser(strings.NewReader(fixture)), k.loaded(proc.ParseModules([]byte(test.modules))))
		if err != nil {
			t.Fatal(err)
		}
		got, err := io.ReadAll(text)
		if err != nil || strings.Contains(string(got), "nft_do_chain\t[nf_tables]\n") != test.want ||
			strings.Contains(string(got), "snd_pcm") || strings.Contains(string(got), "bpf") {
			t.Errorf("%x: %v\n%s", test.address, err, got)
		}
	}
}

func TestTheTextIsReadInPiecesOfAnySize(t *testing.T) {
	k := Kernel{Symbol: "_text", Address: 0xffffffff81000000}
	want := fixture[:strings.Index(fixture, "ffffffffc04")]
	text, err := k.shift("", io.NopCloser(iotest.OneByteReader(strings.NewReader(fixture))), nil)
	if err != nil {
		t.Fatal(err)
	}
	if err := iotest.TestReader(text, []byte(want)); err != nil {
		t.Error(err)
	}
}

func TestATextThatCannotBeRightIsAnError(t *testing.T) {
	zeros := regexp.MustCompile(`(?m)^[0-9a-f]{16}`).ReplaceAllString(fixture, "0000000000000000")
	k := Kernel{BuildID: recorded, Symbol: "_text", Address: 0xffffffff81000000}
	if _, err := read(t, &k, cached(t, zeros)); !errors.Is(err, symbols.ErrAddressesHidden) {
		t.Errorf("all addresses are zero: %v", err)
	}
	for name, text := range map[string]string{
		"empty":             "",
		"no _text":          strings.ReplaceAll(fixture, "_text", "_tex"),
		"_text of a module": strings.ReplaceAll(fixture, "T _text", "T _text\t[x]"),
		"binary":            "\x7fELF\n" + fixture,
		"binary at the end": fixture + "\x7fELF\n",
		"a line too long":   fixture + strings.Repeat("x", maxLine+1),
	} {
		if got, err := read(t, &k, cached(t, text)); err == nil {
			t.Errorf("%s: no error\n%s", name, got)
		}
	}
}

func TestARecordingThatDoesNotIdentifyItsKernelHasNoSymbols(t *testing.T) {
	running, err := buildid.Kernel()
	if err != nil {
		t.Skip(err)
	}
	files := cached(t, fixture)
	for name, k := range map[string]Kernel{
		"no build id":          {Symbol: "_text", Address: 0xffffffff81000000},
		"no symbol":            {BuildID: running, Address: 0xffffffff81000000},
		"no address":           {BuildID: running, Symbol: "_text"},
		"one bit of the first": {BuildID: flip(running, 0), Symbol: "_text", Address: 0xffffffff81000000},
		"one bit of the last":  {BuildID: flip(running, len(running)-1), Symbol: "_text", Address: 0xffffffff81000000},
		"one bit of the cache": {BuildID: flip(recorded, 3), Symbol: "_text", Address: 0xffffffff81000000},
	} {
		if text, err := k.Open(files); err == nil {
			text.Close()
			t.Errorf("%s: there are symbols", name)
		}
	}
}

func flip(id []byte, i int) []byte {
	id = bytes.Clone(id)
	id[i] ^= 1
	return id
}

// vmlinux returns a program like a kernel: with _text, aliases, data, and names that kallsyms lacks.
func vmlinux(t testing.TB) string {
	t.Helper()
	return compiled.Program(t, map[string]string{"vmlinux.c": `
		int init_task = 1, jiffies;
		__asm__(".globl _text; _text: .globl _stext; _stext: nop; label: nop; .set absolute, 42");
		__attribute__((section(".init.text"))) int start_kernel(void) { return 0; }
		static __attribute__((noinline)) int local(int x) { return x + init_task; }
		__attribute__((weak)) int arch_setup(void) { return local(3); }
		int alias(void) __attribute__((alias("arch_setup")));
		int main(void) { return local(jiffies); }
	`}, "gcc", "-O1", "-Wl,--build-id=0x"+hex.EncodeToString(recorded), "-static", "-nostdlib", "-no-pie", "-Wl,-e,main", "-o", "vmlinux", "vmlinux.c")
}

func TestPeerNmPrintsTheSameSymbolsOfAVmlinux(t *testing.T) {
	if _, err := exec.LookPath("nm"); err != nil {
		t.Skip("nm is not installed")
	}
	path := vmlinux(t)
	out, err := exec.Command("nm", "-n", path).Output()
	if err != nil {
		t.Fatal(err)
	}
	var want []string
	for line := range strings.Lines(string(out)) {
		if fields := strings.Fields(line); len(fields) == 3 && strings.Contains("tTwW", fields[1]) {
			want = append(want, line)
		}
	}
	k := Kernel{BuildID: recorded, Symbol: "_text", Address: addressOf(t, want, "_text")}
	symfs := t.TempDir()
	if err := os.MkdirAll(symfs+"/boot", 0o755); err != nil {
		t.Fatal(err)
	}
	b, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(symfs+"/boot/vmlinux-6.1.0", b, 0o644); err != nil {
		t.Fatal(err)
	}
	text, err := read(t, &k, buildid.Files{Symfs: symfs})
	got := slices.Collect(strings.Lines(text))
	// nm orders names of one address by their bytes.
	slices.Sort(got)
	slices.Sort(want)
	if err != nil || !slices.Equal(got, want) || len(got) < 7 {
		t.Errorf("%v\n%v, nm says\n%v", err, got, want)
	}
	k.BuildID = flip(recorded, 7)
	if text, err := read(t, &k, buildid.Files{Symfs: symfs}); err == nil || !strings.Contains(err.Error(), symfs+"/boot/vmlinux-6.1.0 has build id") {
		t.Errorf("another build id: %v\n%s", err, text)
	}
}

// addressOf returns the address of a symbol in lines of nm or kallsyms.
func addressOf(t *testing.T, lines []string, name string) uint64 {
	t.Helper()
	for _, line := range lines {
		if s, ok := parse([]byte(line)); ok && string(s.Name) == name {
			return s.Address
		}
	}
	t.Fatalf("there is no symbol %s", name)
	return 0
}

// recordByPerf records this machine with an empty cache in home, and returns the recorded kernel.
func recordByPerf(t *testing.T, home string) (k Kernel, samples string) {
	t.Helper()
	perfrecord.Need(t)
	run := func(args ...string) string {
		cmd := exec.Command("perf", args...)
		cmd.Env = append(os.Environ(), "HOME="+home, "DEBUGINFOD_URLS=")
		var stderr bytes.Buffer
		cmd.Stderr = &stderr
		out, err := cmd.Output()
		if err != nil {
			t.Fatalf("perf %v: %v\n%s", args, err, &stderr)
		}
		return string(out)
	}
	recording := filepath.Join(home, "perf.data")
	run("record", "-q", "-a", "-e", "cpu-clock:k", "-F", "1999", "-o", recording, "--", "sh", "-c",
		"i=0; while [ $i -lt 100 ]; do date >/dev/null; i=$((i+1)); done")
	for line := range strings.Lines(run("buildid-list", "-i", recording)) {
		if text, name, _ := strings.Cut(strings.TrimSpace(line), " "); name == "[kernel.kallsyms]" {
			id, err := hex.DecodeString(text)
			if err != nil {
				t.Fatal(err)
			}
			k.BuildID = id
		}
	}
	maps := run("script", "-i", recording, "--show-mmap-events")
	found := regexp.MustCompile(`@ 0x([0-9a-f]+)[^\n]*\[kernel\.kallsyms\](\w+)`).FindStringSubmatch(maps)
	if found == nil || k.BuildID == nil {
		t.Fatalf("perf shows no map or build id of the kernel:\n%.1000s", maps)
	}
	address, err := strconv.ParseUint(found[1], 16, 64)
	if err != nil {
		t.Fatal(err)
	}
	k.Address, k.Symbol = address, found[2]
	return k, run("script", "-i", recording, "-F", "ip,sym,symoff,dso")
}

func TestPeerSymbolsOfARecordedKernelAreAtPerfsAddresses(t *testing.T) {
	home := t.TempDir()
	k, samples := recordByPerf(t, home)
	// Another boot would have the same symbols 34 MiB higher, in perf's cache.
	f, err := buildid.Files{Cache: home + "/.debug"}.Kallsyms(k.BuildID)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	moved := Kernel{BuildID: k.BuildID, Symbol: k.Symbol, Address: k.Address + 34<<20}
	otherBoot, err := moved.shift(f.Name(), f, nil)
	if err != nil {
		t.Fatal(err)
	}
	for name, open := range map[string]func() (io.ReadCloser, error){
		"this boot's":    func() (io.ReadCloser, error) { return k.Open(buildid.Files{}) },
		"perf's cache":   func() (io.ReadCloser, error) { return k.cached(buildid.Files{Cache: home + "/.debug"}) },
		"another boot's": func() (io.ReadCloser, error) { return k.shift("", otherBoot, nil) },
	} {
		text, err := open()
		if err != nil {
			t.Errorf("%s: %v", name, err)
			continue
		}
		table, err := symbols.ReadKallsyms(text)
		if err := errors.Join(err, text.Close()); err != nil {
			t.Errorf("%s: %v", name, err)
			continue
		}
		compared := 0
		for line := range strings.Lines(samples) {
			var ip, offset uint64
			var symbol string
			if n, _ := fmt.Sscanf(strings.Replace(line, "+0x", " ", 1), "%x %s %x", &ip, &symbol, &offset); n < 3 || !strings.Contains(line, "([kernel.kallsyms])") {
				continue // a module's
			}
			compared++
			// perf may choose another name of the same address.
			if got, ok := table.Lookup(ip); !ok || got.Start != ip-offset {
				t.Errorf("%s: %x is %s+%x in perf, and %+v, %t here", name, ip, symbol, offset, got, ok)
			}
		}
		if compared < 10 {
			t.Errorf("perf has %d samples with kernel symbols", compared)
		}
	}
}

func TestLiveTheRunningKernelsSymbolsAreUnchanged(t *testing.T) {
	id, err := buildid.Kernel()
	if err != nil {
		t.Skip(err)
	}
	f, err := proc.Live.Kallsyms()
	if err != nil {
		t.Skip(err)
	}
	defer f.Close()
	b, err := io.ReadAll(f)
	if err != nil {
		t.Fatal(err)
	}
	var want []string
	for line := range strings.Lines(string(b)) {
		if !strings.Contains(line, "\t[") {
			want = append(want, line)
		}
	}
	k := Kernel{BuildID: id, Symbol: "_text", Address: addressOf(t, want, "_text")}
	if k.Address == 0 {
		k.Address = 1
		if _, err := read(t, &k, buildid.Files{}); !errors.Is(err, symbols.ErrAddressesHidden) {
			t.Errorf("%v; want ErrAddressesHidden", err)
		}
		return
	}
	got, err := read(t, &k, buildid.Files{})
	if err != nil || got != strings.Join(want, "") {
		t.Errorf("%v; %d bytes, want %d", err, len(got), len(strings.Join(want, "")))
	}
}

func FuzzShift(f *testing.F) {
	fuzzing.Bound(f)
	f.Add(fixture, uint64(0xffffffff9f200000))
	f.Add("c0008000 T _text\nc0008040 t x", uint64(0xc1008000))
	f.Fuzz(func(t *testing.T, text string, address uint64) {
		k := Kernel{Symbol: "_text", Address: address}
		shifted, err := k.shift("", io.NopCloser(strings.NewReader(text)), nil)
		if err != nil {
			return
		}
		found := false
		err = symbols.EachKernelSymbol(shifted, func(s *symbols.KernelSymbol) error {
			if len(s.Module) > 0 {
				t.Errorf("%s is of module %s", s.Name, s.Module)
			}
			if string(s.Name) == "_text" && !absolute(s) && !found {
				found = true
				if s.Address != address {
					t.Errorf("_text is at %x, not %x", s.Address, address)
				}
			}
			return nil
		})
		if err == nil && !found {
			t.Error("there is no _text")
		}
	})
}

// tinyELF returns a file with code, a symbol table with _text in it, and names.
func tinyELF(t testing.TB) []byte {
	t.Helper()
	var b bytes.Buffer
	const sections, table = 64, 64 + 4*64
	for _, part := range []any{
		elf.Header64{Ident: [16]byte{0x7f, 'E', 'L', 'F', byte(elf.ELFCLASS64), byte(elf.ELFDATA2LSB)},
			Shoff: sections, Shentsize: 64, Shnum: 4},
		elf.Section64{},
		elf.Section64{Type: uint32(elf.SHT_PROGBITS), Flags: uint64(elf.SHF_EXECINSTR), Addr: 0x1000, Size: 16},
		elf.Section64{Type: uint32(elf.SHT_SYMTAB), Off: table, Size: elf.Sym64Size, Link: 3},
		elf.Section64{Type: uint32(elf.SHT_STRTAB), Off: table + elf.Sym64Size, Size: 7},
		elf.Sym64{Name: 1, Info: elf.ST_INFO(elf.STB_GLOBAL, elf.STT_NOTYPE), Shndx: 1, Value: 0x1000},
		[7]byte{0, '_', 't', 'e', 'x', 't', 0},
	} {
		if err := binary.Write(&b, binary.LittleEndian, part); err != nil {
			t.Fatal(err)
		}
	}
	return b.Bytes()
}

func FuzzFunctions(f *testing.F) {
	fuzzing.Bound(f)
	f.Add(tinyELF(f))
	f.Fuzz(func(t *testing.T, b []byte) {
		text, err := functions(bytes.NewReader(b), int64(len(b)))
		if err != nil {
			return
		}
		if text.Len() > maxText {
			t.Errorf("%d bytes", text.Len())
		}
	})
}

func TestTheSymbolsOfATinyVmlinux(t *testing.T) {
	b := tinyELF(t)
	text, err := functions(bytes.NewReader(b), int64(len(b)))
	if err != nil || text.String() != "0000000000001000 T _text\n" {
		t.Errorf("%q, %v", text, err)
	}
}
