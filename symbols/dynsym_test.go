package symbols

import (
	"encoding/binary"
	"os"
	"strings"
	"testing"

	"github.com/ringtap/ringtap/internal/testkit/compiled"
)

// withoutSections wipes the section headers of a 64-bit little-endian file and
// what the ELF header says of them.
func withoutSections(t *testing.T, path string) string {
	t.Helper()
	out := compiled.Copy(t, path)
	b, err := os.ReadFile(out)
	if err != nil {
		t.Fatal(err)
	}
	headers := b[binary.LittleEndian.Uint64(b[40:]):]
	clear(headers[:64*int(binary.LittleEndian.Uint16(b[60:]))])
	clear(b[40:48]) // e_shoff
	clear(b[58:64]) // e_shentsize, e_shnum, e_shstrndx
	if err := os.WriteFile(out, b, 0o755); err != nil {
		t.Fatal(err)
	}
	return out
}

func TestAFileWithoutSectionsHasItsDynamicSymbols(t *testing.T) {
	for _, style := range []string{"gnu", "sysv", "both"} {
		t.Run(style, func(t *testing.T) {
			path := compiled.Copy(t, buildC(t, "-rdynamic", "-Wl,--hash-style="+style))
			run(t, "strip", path)
			want := allSymbols(t, openFile(t, path, Options{}))
			f := openFile(t, withoutSections(t, path), Options{})
			if err := f.Load(); err != nil {
				t.Errorf("Load: %v", err)
			}
			found := 0
			for _, w := range want {
				if strings.HasSuffix(w.Name, "@plt") {
					continue // stubs are found by their sections
				}
				if got, ok := f.Lookup(w.Start); !ok || got.Name != w.Name {
					t.Errorf("Lookup(%#x) = %v, %v, want %v", w.Start, got, ok, w)
				}
				found++
			}
			if found < 4 {
				t.Errorf("the fixture has %d exported functions", found)
			}
		})
	}
}

func TestAGoProgramWithoutSectionsHasItsFunctions(t *testing.T) {
	for _, mode := range []string{"exe", "pie"} {
		path := buildGo(t, "-buildmode="+mode, "-ldflags=-s -w")
		f := openFile(t, withoutSections(t, path), Options{})
		want := findSymbol(t, openFile(t, path, Options{}), "main.(*T).m")
		if got, ok := f.Lookup(want.Start); !ok || got != want {
			t.Errorf("%s: Lookup(%#x) = %v, %v, want %v", mode, want.Start, got, ok, want)
		}
	}
}
