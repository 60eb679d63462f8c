package goroutine

import (
	"bytes"
	"debug/elf"
	"encoding/binary"
	"flag"
	"fmt"
	"go/format"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"testing"

	"github.com/ringtap/ringtap/callchain"
	"github.com/ringtap/ringtap/internal/object/elfimage"
	"github.com/ringtap/ringtap/internal/testkit/compiled"
)

var (
	update   = flag.Bool("update", false, "write layouts_table.go anew")
	releases = flag.Bool("releases", false, "ask the first and the last of all releases of Go, which are downloaded")
)

// toolchains are the releases that layouts_table.go was made from: of each the first
// and the last.
var toolchains = []struct {
	minor int
	names [2]string
}{
	{18, [2]string{"go1.18", "go1.18.10"}},
	{19, [2]string{"go1.19", "go1.19.13"}},
	{20, [2]string{"go1.20", "go1.20.14"}},
	{21, [2]string{"go1.21.0", "go1.21.13"}},
	{22, [2]string{"go1.22.0", "go1.22.12"}},
	{23, [2]string{"go1.23.0", "go1.23.12"}},
	{24, [2]string{"go1.24.0", "go1.24.13"}},
	{25, [2]string{"go1.25.0", "go1.25.14"}},
	{26, [2]string{"go1.26.0", "go1.26.11"}},
	{27, [2]string{"go1.27.0", "go1.27.4"}},
}

// TestLayoutsAreThoseOfTheReleases compares the table with the debug information and
// the data of programs that this Go has built, and with -releases every one.
//
//	go test ./internal/runtimes/goroutine -run TestLayouts -releases -update
func TestLayoutsAreThoseOfTheReleases(t *testing.T) {
	if !*releases {
		minor, ok := minorOf(runtime.Version())
		if !ok {
			t.Skipf("%s is no release", runtime.Version())
		}
		for _, arch := range []callchain.Arch{callchain.AMD64, callchain.ARM64} {
			got := builtLayout(t, "local", arch)
			want, reasons, ok := known(minor, arch)
			if !ok || got.layout != want || !slices.Equal(got.reasons, reasons) {
				t.Errorf("Go 1.%d on %v is %v, the table has %v", minor, arch, got, want)
			}
		}
		return
	}
	table := madeTables{}
	for _, r := range toolchains {
		for _, arch := range []callchain.Arch{callchain.AMD64, callchain.ARM64} {
			first, last := builtLayout(t, r.names[0], arch), builtLayout(t, r.names[1], arch)
			// Go 1.23 got another reason, the last, while it was mended.
			if first.layout != last.layout || !slices.Equal(first.reasons, last.reasons[:len(first.reasons)]) {
				t.Errorf("%v differ on %v: %v and %v", r.names, arch, first, last)
			}
			table.add(r.minor, arch, last)
		}
	}
	text := table.source(t)
	if *update {
		if err := os.WriteFile("layouts_table.go", text, 0o644); err != nil {
			t.Fatal(err)
		}
		return
	}
	if is, err := os.ReadFile("layouts_table.go"); err != nil || !bytes.Equal(is, text) {
		t.Errorf("layouts_table.go (%v) is not what -update would write", err)
	}
}

// built is what a program says about the runtime that is in it.
type built struct {
	layout  layout
	reasons []string
}

// builtLayout builds a program and reads its debug information and its data.
func builtLayout(t *testing.T, toolchain string, arch callchain.Arch) built {
	t.Helper()
	dir := compiled.Recipe{
		Sources:  map[string]string{"main.go": "package main\n\nfunc main() {}\n"},
		Commands: [][]string{{"go", "build", "-o", "program", "main.go"}},
		Env:      []string{"GOFLAGS=", "CGO_ENABLED=0", "GOARCH=" + arch.String(), "GOTOOLCHAIN=" + toolchain},
	}.Dir(t)
	out := filepath.Join(dir, "program")
	f, err := elf.Open(out)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	symbols, err := f.Symbols()
	if err != nil {
		t.Fatal(err)
	}
	var b built
	for _, s := range symbols {
		switch s.Name {
		case "runtime.allgadd":
			b.layout = openLayout(t, out, s.Value)
		case "runtime.waitReasonStrings":
			headers := data(t, f, s.Value, s.Size)
			for len(headers) > 0 {
				at, n := binary.LittleEndian.Uint64(headers), binary.LittleEndian.Uint64(headers[8:])
				b.reasons = append(b.reasons, string(data(t, f, at, n)))
				headers = headers[16:]
			}
		}
	}
	if b.layout[gStackHi] != 8 || len(b.reasons) < 20 {
		t.Fatalf("%s: %v", toolchain, b)
	}
	return b
}

func openLayout(t *testing.T, path string, allgadd uint64) layout {
	t.Helper()
	b, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	m, err := elfimage.New(bytes.NewReader(b), int64(len(b)))
	if err != nil {
		t.Fatal(err)
	}
	l, missing := layoutOf(m, allgadd)
	if missing != "" {
		t.Fatal(missing)
	}
	return l
}

// data is what a program has at an address.
func data(t *testing.T, f *elf.File, addr, n uint64) []byte {
	t.Helper()
	if n == 0 {
		return nil
	}
	for _, p := range f.Progs {
		if p.Type == elf.PT_LOAD && addr >= p.Vaddr && addr+n <= p.Vaddr+p.Filesz {
			b := make([]byte, n)
			if _, err := p.ReadAt(b, int64(addr-p.Vaddr)); err != nil {
				t.Fatal(err)
			}
			return b
		}
	}
	t.Fatalf("nothing is at %#x", addr)
	return nil
}

// madeTables are the tables of layouts_table.go.
type madeTables struct {
	layouts map[callchain.Arch][]release[layout]
	reasons []release[[]string]
	newest  int
}

// add enters a release where it differs from the one before.
func (m *madeTables) add(minor int, arch callchain.Arch, b built) {
	if m.layouts == nil {
		m.layouts = make(map[callchain.Arch][]release[layout])
	}
	if l := m.layouts[arch]; len(l) == 0 || l[len(l)-1].what != b.layout {
		m.layouts[arch] = append(l, release[layout]{minor, b.layout})
	}
	if n := len(m.reasons); n == 0 || !slices.Equal(m.reasons[n-1].what, b.reasons) {
		m.reasons = append(m.reasons, release[[]string]{minor, b.reasons})
	}
	m.newest = minor
}

// source writes the tables as layouts_table.go.
func (m *madeTables) source(t *testing.T) []byte {
	var b strings.Builder
	b.WriteString("// Code generated by TestLayoutsAreThoseOfTheReleases -releases -update; DO NOT EDIT.\n\npackage goroutine\n\n")
	fmt.Fprintf(&b, "// newest is the newest release that was asked.\nconst newest = %d\n", m.newest)
	for _, arch := range []callchain.Arch{callchain.AMD64, callchain.ARM64} {
		fmt.Fprintf(&b, "\n// Layouts of releases for %v, where they changed.\nvar layouts%s = []release[layout]{\n", arch, strings.ToUpper(arch.String()))
		for _, r := range m.layouts[arch] {
			fmt.Fprintf(&b, "{%d, layout{\n", r.since)
			for f, offset := range r.what {
				fmt.Fprintf(&b, "%s: %d,\n", fieldNames[f], offset)
			}
			b.WriteString("}},\n")
		}
		b.WriteString("}\n")
	}
	b.WriteString("\n// waitReasons are the words for runtime.waitReason, where they changed.\nvar waitReasons = []release[[]string]{\n")
	for _, r := range m.reasons {
		fmt.Fprintf(&b, "{%d, []string{\n", r.since)
		for _, reason := range r.what {
			fmt.Fprintf(&b, "%q,\n", reason)
		}
		b.WriteString("}},\n")
	}
	b.WriteString("}\n")
	text, err := format.Source([]byte(b.String()))
	if err != nil {
		t.Fatal(err)
	}
	return text
}

// fieldNames are the fields' names in this package.
var fieldNames = [fields]string{
	"gStackLo", "gStackHi", "gM", "gSchedSP", "gSchedPC", "gSchedG", "gSchedLR", "gSchedBP", "gSyscallSP", "gSyscallPC",
	"gSyscallBP", "gStatus", "gID", "gWaitSince", "gWaitReason", "gLockedM", "gTrackingSeq", "gParent", "gCreator", "gStart", "gWaiting", "mProcID",
}
