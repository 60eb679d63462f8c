package callchain

import (
	"debug/elf"
	"os"
	"testing"
)

// Linux 6.1's vdso for arm64 has no call frame information at all.
func TestATrampolineWithoutAnyFrameInformationIsFound(t *testing.T) {
	for _, compiler := range []string{"gcc", "aarch64-linux-gnu-gcc"} {
		t.Run(compiler, func(t *testing.T) {
			library := compile(t, compiler, "trampoline.c", "-shared", "-nostdlib", "-fno-asynchronous-unwind-tables")
			file, err := os.Open(library)
			if err != nil {
				t.Fatal(err)
			}
			defer file.Close()
			table, err := Compile(file)
			if err != nil {
				t.Fatal(err)
			}
			image, err := elf.NewFile(file)
			if err != nil {
				t.Fatal(err)
			}
			text := image.Section(".text")
			symbols, err := image.DynamicSymbols()
			if err != nil || len(symbols) != 1 || text == nil {
				t.Fatalf("symbols %v, .text %v: %v", symbols, text, err)
			}
			// What returns there is one byte behind what is looked up.
			at := symbols[0].Value - text.Addr + text.Offset - 1
			if set := table.find(at); set == nil || set.flags&flagSignal == 0 {
				t.Errorf("%#x has the rules %+v, want those of a signal's frame", at, set)
			}
			if set := table.find(at - 1); set != nil {
				t.Errorf("%#x has the rules %+v, want none", at-1, set)
			}
		})
	}
}
