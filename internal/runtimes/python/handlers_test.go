package python

import (
	"cmp"
	"debug/elf"
	"slices"
	"strings"
	"testing"

	"github.com/ringtap/ringtap/callchain"
	"github.com/ringtap/ringtap/internal/runtimes/interp"
	"github.com/ringtap/ringtap/internal/testkit/compiled"
	"github.com/ringtap/ringtap/internal/testkit/interptest"
)

func TestTheFunctionsOfInstructionsAreFoundByTheirTable(t *testing.T) {
	for name, flags := range map[string][]string{
		"fixed": {"-DSTORAGE=static"}, "relative": {"-DSTORAGE=static", "-fPIC"}, "immediate": {"-DSTORAGE=", "-fPIC"}, "broken": {"-DSTORAGE=static", "-DBROKEN"}} {
		t.Run(name, func(t *testing.T) {
			command := append([]string{"gcc", "-o", "handlers", "handlers.c", "-O2", "-static", "-nostdlib", "-no-pie"}, flags...)
			m := interptest.Module(t, compiled.Program(t, compiled.Sources(t, "testdata/handlers.c"), command...))
			if m.Image.Machine != elf.EM_X86_64 {
				t.Skip("only amd64 code is understood")
			}
			f, err := elf.NewFile(m.Image.Reader)
			if err != nil {
				t.Fatal(err)
			}
			symbols, err := f.Symbols()
			if err != nil {
				t.Fatal(err)
			}
			var want, loops []interp.Span
			for _, s := range symbols {
				span := m.Span(interp.Symbol{Addr: s.Value, Size: s.Size})
				switch {
				case s.Name == "loop":
					loops = append(loops, span)
				case strings.HasPrefix(s.Name, "handler_") && name != "broken":
					want = append(want, span)
				}
			}
			slices.SortFunc(want, func(a, b interp.Span) int { return cmp.Compare(a.Start, b.Start) })
			var memory interp.Image
			for _, s := range m.Image.Segments {
				if b, err := m.Image.BytesAt(s.Vaddr, s.Filesz); err == nil && s.Type == elf.PT_LOAD {
					memory = append(memory, interp.Page{Addr: s.Vaddr, Bytes: b})
				}
			}
			r := python{handlers: findHandlers(&interp.Process{Memory: memory, Arch: callchain.AMD64}, m, loops)}
			if !slices.Equal(r.handlers, want) {
				t.Fatalf("%d functions, want %d", len(r.handlers), len(want))
			}
			for _, s := range want {
				if !r.Handler(callchain.Frame{Offset: s.Start}) || !r.Handler(callchain.Frame{Offset: s.End - 1}) {
					t.Errorf("%#x is none", s)
				}
			}
			if r.Handler(callchain.Frame{Offset: loops[0].Start}) {
				t.Error("the loop is one")
			}
		})
	}
}
