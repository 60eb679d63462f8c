package recording

import (
	"io"
	"testing"

	"github.com/ringtap/ringtap/internal/perfdata"
	"github.com/ringtap/ringtap/internal/process"
	"github.com/ringtap/ringtap/perfevent"
)

func TestARecordingsOwnSymbolsNameWhatTheyCover(t *testing.T) {
	symbols := newSymbols([]perfdata.SymbolTable{
		{Path: "/bin/x", Kind: perfdata.FileSymbols, Symbols: []perfdata.Symbol{{Address: 0x2000, Size: 0x10, Name: "second"}, {Address: 0x1000, Size: 0x100, Name: "first"}}},
		{Path: "/lib/twice.so", Kind: perfdata.FileSymbols, Symbols: []perfdata.Symbol{{Address: 0, Size: 8, Name: "a"}}},
		{Path: "/lib/twice.so", Kind: perfdata.FileSymbols, Symbols: []perfdata.Symbol{{Address: 0, Size: 8, Name: "b"}}},
	})
	for _, tt := range []struct {
		path   string
		offset uint64
		name   string // "" for none
		start  uint64
	}{
		{"/bin/x", 0x1000, "first", 0x1000},
		{"/bin/x", 0x10ff, "first", 0x1000},
		{"/bin/x", 0x1100, "", 0},
		{"/bin/x", 0xfff, "", 0},
		{"/bin/x", 0x200f, "second", 0x2000},
		{"/bin/x", 0x2010, "", 0},
		{"/lib/twice.so", 0, "", 0},
		{"/bin/y", 0x1000, "", 0},
	} {
		if name, start, _, ok := symbols.find(tt.path, tt.offset); name != tt.name || start != tt.start || ok != (tt.name != "") {
			t.Errorf("%s at %#x: %q at %#x, %v", tt.path, tt.offset, name, start, ok)
		}
	}
}

func TestARecordingsKernelSymbolsAreKallsyms(t *testing.T) {
	symbols := newSymbols([]perfdata.SymbolTable{
		{Path: "[ext4]", Kind: perfdata.ModuleSymbols, Symbols: []perfdata.Symbol{{Address: 0xffffffffc0001000, Size: 8, Name: "ext4_sync"}}},
		{Path: kernelName, Kind: perfdata.KernelSymbols, Symbols: []perfdata.Symbol{{Address: 0xffffffff81000020, Size: 8, Name: "do_nmi"}, {Address: 0xffffffff81000010, Size: 8, Name: "a\nname"}, {Address: 0xffffffff81000000, Size: 8, Name: "_text"}}},
		{Path: "/bin/x", Kind: perfdata.FileSymbols, Symbols: []perfdata.Symbol{{Address: 0x1000, Size: 8, Name: "main"}}},
	})
	text, err := io.ReadAll(symbols.kallsyms())
	const want = "ffffffff81000000 t _text\nffffffff81000020 t do_nmi\nffffffffc0001000 t ext4_sync\t[ext4]\n"
	if err != nil || string(text) != want {
		t.Errorf("%q, %v; want %q", text, err, want)
	}
}

func TestARecordingsFunctionsAreThoseOfItsRuntimes(t *testing.T) {
	function := func(path, runtime, source, name string) perfdata.SymbolTable {
		return perfdata.SymbolTable{Path: path, Kind: perfdata.RuntimeSymbols, Runtime: runtime, Source: source, Symbols: []perfdata.Symbol{{Size: 1 << 24, Name: name}}}
	}
	none := function("/app/none.py:f", "CPython 3.12", "/app/none.py", "f")
	none.Symbols = nil
	symbols := newSymbols([]perfdata.SymbolTable{
		function("/app/a.py:f", "CPython 3.12", "/app/a.py", "f"),
		function("PHP 8.2:strlen", "PHP 8.2", "", "strlen"),
		function("[truncated]", "", "", "[truncated]"),
		{Path: "/bin/x", Kind: perfdata.FileSymbols, Symbols: []perfdata.Symbol{{Address: 0x1000, Size: 8, Name: "main"}}},
		none,
	})
	// The recorder was killed: there are only the mappings.
	for _, path := range []string{"/app/killed.py:f", "node:internal/loader:get |a:b", "V8:Builtins_X", "[stack switch]", "/app/a.py:f"} {
		symbols.mapped(&perfevent.Mmap{Addr: perfdata.FunctionsBegin, Filename: []byte(path)})
	}
	symbols.mapped(&perfevent.Mmap{Addr: 0x560000000000, Filename: []byte("/bin/a:b")})
	symbols.mapped(&perfevent.Mmap{Addr: 0xffffffff81000000, Filename: []byte("[x:y]")})
	for path, want := range map[string]process.RecordedFunction{
		"/app/a.py:f":                   {Runtime: "CPython 3.12", File: "/app/a.py", Name: "f"},
		"PHP 8.2:strlen":                {Runtime: "PHP 8.2", Name: "strlen"},
		"[truncated]":                   {Name: "[truncated]"},
		"/bin/x":                        {},
		"/app/none.py:f":                {},
		"/app/a.py":                     {},
		"/app/killed.py:f":              {Runtime: "runtime", File: "/app/killed.py", Name: "f"},
		"node:internal/loader:get |a:b": {Runtime: "runtime", File: "node:internal/loader", Name: "get |a:b"},
		"V8:Builtins_X":                 {Runtime: "runtime", File: "V8", Name: "Builtins_X"},
		"[stack switch]":                {Name: "[stack switch]"},
		"/bin/a:b":                      {},
		"[x:y]":                         {},
	} {
		if got, ok := symbols.function(path); got != want || ok != (want.Name != "") {
			t.Errorf("%s: %+v, %v; want %+v", path, got, ok, want)
		}
	}
}
