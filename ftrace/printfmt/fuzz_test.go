package printfmt

import (
	"bytes"
	"testing"
	"unicode"
	"unicode/utf8"

	"github.com/ringtap/ringtap/internal/testkit/fuzzing"
)

// FuzzPrinter prints random records in the ways of real formats and of random
// print formats over a real one's fields.
func FuzzPrinter(f *testing.F) {
	fuzzing.Bound(f)
	formats := testFormats(f)
	for i, format := range formats {
		format.System = "syscalls"[:8*(i%2)]
		f.Add(uint8(i), format.PrintFmt, bytes.Repeat([]byte{1, 0, 0x20, 0, 8, 0xff}, 20))
	}
	f.Add(uint8(0), `"%*.*s %-9999999d %p", 5, -1, "x", 1 ? 2 : 3, ({ int a = (2); a; })`, []byte{})
	f.Add(uint8(0), `"%d", -(-(~(!(sizeof(int)))))[0]`, []byte{})
	opts := Options{
		KernelSymbol: func(addr uint64) (string, uint64, uint64, string, bool) { return "name", 1, 2, "module", addr&1 != 0 },
		KernelString: func(addr uint64) (string, bool) { return "text", addr&1 != 0 },
		Constant:     func(name string) (int64, bool) { return -1, len(name) > 3 },
	}
	f.Fuzz(func(t *testing.T, which uint8, printFmt string, raw []byte) {
		format := *formats[int(which)%len(formats)]
		format.PrintFmt = printFmt
		p, err := New(&format, opts)
		if err != nil {
			t.Fatal(err)
		}
		line := AppendLine(nil, raw[:min(len(raw), 16)], 1, 2, 3, raw, &format, p)
		if limit := 100 + (maxWidth+8)*(len(printFmt)+1)*2 + 8*len(raw)*(len(format.Fields)+len(printFmt)+1); len(line) > limit {
			t.Errorf("%d bytes from a format of %d and a record of %d", len(line), len(printFmt), len(raw))
		}
		for _, field := range format.Fields {
			checkPrintable(t, field.AppendText(nil, raw))
			field.Uint(raw)
			field.Int(raw)
			field.Bytes(raw)
		}
	})
}

func checkPrintable(t *testing.T, text []byte) {
	for _, r := range string(text) {
		if unicode.IsControl(r) || !utf8.Valid(text) {
			t.Fatalf("%q", text)
		}
	}
}

func FuzzReadConstants(f *testing.F) {
	f.Add([]byte{})
	f.Add(enumBTF())
	f.Fuzz(func(t *testing.T, btf []byte) {
		constants, err := ReadConstants(btf)
		if err == nil && len(constants) > len(btf) {
			t.Errorf("%d constants from %d bytes", len(constants), len(btf))
		}
	})
}

// enumBTF is type information with enum { A = -1, B = 2 } and nothing else.
func enumBTF() []byte {
	return []byte{
		0x9f, 0xeb, 1, 0, 24, 0, 0, 0, 0, 0, 0, 0, 28, 0, 0, 0, 28, 0, 0, 0, 5, 0, 0, 0,
		0, 0, 0, 0, 2, 0, 0, 0x86, 4, 0, 0, 0,
		1, 0, 0, 0, 0xff, 0xff, 0xff, 0xff, 3, 0, 0, 0, 2, 0, 0, 0,
		0, 'A', 0, 'B', 0,
	}
}
