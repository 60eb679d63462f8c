package symbols

import (
	"debug/elf"
	"errors"
	"io"
	"strings"
	"testing"
)

func TestOpenRefusesWhatIsNotELF(t *testing.T) {
	for _, text := range []string{"", "\x7fELF", "#!/bin/sh\n" + strings.Repeat("x", 100)} {
		if _, err := Open(strings.NewReader(text), int64(len(text)), Options{}); !errors.Is(err, ErrNotELF) {
			t.Errorf("Open(%.10q) = %v, want %v", text, err, ErrNotELF)
		}
	}
}

func TestTheBestNameOfAnAddressIsKept(t *testing.T) {
	for _, flags := range [][]string{{}, {"-static"}, {"-no-pie"}, {"-m32"}} {
		t.Run(strings.Join(flags, " "), func(t *testing.T) {
			if len(flags) > 0 && flags[0] == "-m32" && !canCompile(t, "-m32") {
				t.Skip("gcc has no 32-bit libraries")
			}
			f := openFile(t, buildC(t, flags...), Options{})
			if err := f.Load(); err != nil {
				t.Errorf("Load: %v", err)
			}
			have := symbolNames(allSymbols(t, f))
			for _, name := range []string{"main", "hidden_leaf", "exported", "plain", "chosen", "chosen_1"} {
				if !have[name] {
					t.Errorf("no symbol %s", name)
				}
			}
			if have["chosen@plt"] != (f.image.Machine == elf.EM_X86_64 || f.image.Machine == elf.EM_AARCH64) {
				t.Errorf("chosen@plt: %v", have["chosen@plt"])
			}
			for _, name := range []string{"__plain", "choose"} {
				if have[name] {
					t.Errorf("%s is there beside its better name", name)
				}
			}
		})
	}
}

func TestEveryByteOfAFunctionIsItsOwn(t *testing.T) {
	f := openFile(t, buildC(t), Options{})
	main := findSymbol(t, f, "main")
	for off := main.Start; off < main.Start+main.Size; off++ {
		if s, ok := f.Lookup(off); !ok || s != main {
			t.Fatalf("Lookup(main + %d) = %v, %v", off-main.Start, s, ok)
		}
	}
	if s, ok := f.Lookup(main.Start + main.Size); ok && s.Name == "main" {
		t.Errorf("the byte behind main is %v", s)
	}
	if s, ok := f.Lookup(0); ok {
		t.Errorf("the ELF header is %v", s)
	}
}

// countingReader counts the bytes that are read below and above a line.
type countingReader struct {
	io.ReaderAt
	calls, bytes int
}

func (c *countingReader) ReadAt(p []byte, off int64) (int, error) {
	c.calls++
	c.bytes += len(p)
	return c.ReaderAt.ReadAt(p, off)
}

func TestOpenAndLookupLeaveDebugSectionsAlone(t *testing.T) {
	f := openFile(t, buildC(t, "-g3", "-static"), Options{})
	r := &countingReader{ReaderAt: f.image.Reader}
	lazy, err := Open(r, f.image.Size, Options{})
	if err != nil {
		t.Fatal(err)
	}
	if r.calls > 8 || r.bytes > 16<<10 {
		t.Errorf("Open made %d reads of %d bytes", r.calls, r.bytes)
	}
	opened := r.bytes
	main := findSymbol(t, lazy, "main")
	var tables uint64
	for _, s := range lazy.image.Sections {
		switch s.Name {
		case ".symtab", ".strtab", ".rela.plt", ".plt":
			tables += s.Size
		}
	}
	if got := uint64(r.bytes - opened); got > tables+(4<<10) {
		t.Errorf("Lookup read %d bytes, the tables have %d", got, tables)
	}
	before := r.bytes
	lazy.Lookup(main.Start)
	if r.bytes != before {
		t.Errorf("a second Lookup read %d bytes", r.bytes-before)
	}
}

func TestNamesMayNotBeSharedWithoutBound(t *testing.T) {
	b := &builder{code: []codeRange{{0, 1 << 20}}}
	source, err := b.source(make([]byte, 1000))
	if err != nil {
		t.Fatal(err)
	}
	n := 0
	for addr := uint64(0); addr < 1<<20; addr += 16 {
		if err = b.add(source, 0, 500, addr, 16, rankFunction, Defined); err != nil {
			break
		}
		n++
	}
	if !errors.Is(err, errTooMany) || n != sharing*2 {
		t.Errorf("%d names of 500 bytes in a table of 1000, %v", n, err)
	}
}
