package gotable

import (
	"bytes"
	"debug/elf"
	"encoding/binary"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"testing"

	"github.com/ringtap/ringtap/internal/object/elfimage"
	"github.com/ringtap/ringtap/internal/testkit/compiled"
	"github.com/ringtap/ringtap/internal/testkit/fuzzing"
)

const program = `package main

import "os"

//go:noinline
func add(x int) int { return x + len(os.Args) }

func main() { os.Exit(add(-1)) }
`

// build builds a Go program.
func build(t *testing.T, env string, flags ...string) []byte {
	t.Helper()
	dir := compiled.Recipe{
		Sources:  map[string]string{"main.go": program},
		Commands: [][]string{append(append([]string{"go", "build", "-o", "program"}, flags...), "main.go")},
		Env:      []string{"GOFLAGS=", env},
	}.Dir(t)
	b, err := os.ReadFile(filepath.Join(dir, "program"))
	if err != nil {
		t.Fatal(err)
	}
	return b
}

// withoutSections clears the ELF header's words about section headers.
func withoutSections(b []byte) []byte {
	b = bytes.Clone(b)
	copy(b[40:48], make([]byte, 8)) // e_shoff
	copy(b[60:64], make([]byte, 4)) // e_shnum, e_shstrndx
	return b
}

// TestTheTableIsFoundHoweverAProgramIsLinked compares places of functions with
// those that the symbol table of the same program has.
func TestTheTableIsFoundHoweverAProgramIsLinked(t *testing.T) {
	for _, test := range []struct {
		name, env string
		flags     []string
	}{
		{"static", "CGO_ENABLED=0", nil},
		{"position independent", "CGO_ENABLED=0", []string{"-buildmode=pie"}},
		{"linked by gcc", "CGO_ENABLED=1", []string{"-ldflags=-linkmode=external"}},
		{"position independent, linked by gcc", "CGO_ENABLED=1", []string{"-buildmode=pie", "-ldflags=-linkmode=external"}},
	} {
		t.Run(test.name, func(t *testing.T) {
			if _, err := exec.LookPath("gcc"); err != nil && test.env == "CGO_ENABLED=1" {
				t.Skip("no gcc")
			}
			b := build(t, test.env, test.flags...)
			f, err := elf.NewFile(bytes.NewReader(b))
			if err != nil {
				t.Fatal(err)
			}
			symbols, err := f.Symbols()
			if err != nil {
				t.Fatal(err)
			}
			var data uint64
			want := map[string]uint64{}
			for _, s := range symbols {
				switch s.Name {
				case "main.main", "main.add", "runtime.mstart1", "runtime.text":
					want[s.Name] = s.Value
				case "go:func.*":
					data = s.Value
				}
			}
			if len(want) != 4 || data == 0 {
				t.Fatalf("the program has the symbols %v only, and data at %#x", want, data)
			}
			for form, b := range map[string][]byte{"sections": b, "segments": withoutSections(b)} {
				m, err := elfimage.New(bytes.NewReader(b), int64(len(b)))
				if err != nil {
					t.Fatal(err)
				}
				table, err := Open(m)
				if err != nil {
					t.Errorf("%s: %v", form, err)
					continue
				}
				if table.Text != want["runtime.text"] || table.GoFunc != data {
					t.Errorf("%s: text %#x, data %#x; text is %#x, data %#x", form, table.Text, table.GoFunc, want["runtime.text"], data)
				}
				for name, addr := range want {
					if name == "runtime.text" {
						continue
					}
					i, ok := table.Find(addr)
					fn := table.Func(i)
					got := table.Name(fn.Name(), 1<<10)
					if !ok || fn.Entry != addr || string(got) != name {
						t.Errorf("%s: at %#x is %q from %#x on, want %s", form, addr, got, fn.Entry, name)
					}
				}
			}
		})
	}
}

func TestAProgramThatIsNotGoHasNoTable(t *testing.T) {
	path, err := exec.LookPath("sh")
	if err != nil {
		t.Skip("no sh")
	}
	b, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	for form, b := range map[string][]byte{"sections": b, "segments": withoutSections(b)} {
		m, err := elfimage.New(bytes.NewReader(b), int64(len(b)))
		if err != nil {
			t.Fatal(err)
		}
		if table, err := Open(m); table != nil || !errors.Is(err, ErrNone) {
			t.Errorf("%s: got %v, %v", form, table, err)
		}
	}
}

func TestPCValueTablesEndWhereTheyShould(t *testing.T) {
	table := &Table{quantum: 4, values: part{inMemory([]byte{0, 2, 1, 3, 2, 0, 4, 1}), 0, 8}}
	for _, test := range []struct {
		name      string
		offset    uint32
		addr      uint64
		want      int32
		malformed bool
	}{
		{"the first value", 1, 103, 0, false},
		{"a falling value", 1, 104, -2, false},
		{"behind the end", 1, 112, -1, false},
		{"no table", 0, 100, -1, true},
		{"outside", 8, 100, -1, true},
		{"cut short", 6, 104, -1, true},
	} {
		t.Run(test.name, func(t *testing.T) {
			if got := table.Value(test.offset, 100, test.addr); got != test.want {
				t.Errorf("value at %d is %d, want %d", test.addr, got, test.want)
			}
			v := table.Values(test.offset, 100)
			for v.Next() {
			}
			if v.Malformed != test.malformed {
				t.Errorf("malformed: %v, want %v", v.Malformed, test.malformed)
			}
		})
	}
}

// TestATableReadInPiecesIsTheSame asks for some functions of a table, which reads pages,
// and then for all, which reads it whole.
func TestATableReadInPiecesIsTheSame(t *testing.T) {
	b := build(t, "CGO_ENABLED=0")
	m, err := elfimage.New(bytes.NewReader(b), int64(len(b)))
	if err != nil {
		t.Fatal(err)
	}
	pieces, err := Open(m)
	if err != nil {
		t.Fatal(err)
	}
	all, err := m.BytesAt(pieces.addr, pieces.names.data.size)
	if err != nil {
		t.Fatal(err)
	}
	whole, err := New(m, pieces.addr, all)
	if err != nil {
		t.Fatal(err)
	}
	whole.Text, whole.GoFunc = pieces.Text, pieces.GoFunc
	compare := func(i uint64) {
		t.Helper()
		x, y := pieces.Func(i), whole.Func(i)
		for _, limit := range []int{3, 1 << 10} {
			if x.Entry != y.Entry || x.End != y.End || string(pieces.Name(x.Name(), limit)) != string(whole.Name(y.Name(), limit)) {
				t.Fatalf("function %d is %q at %#x; of the whole table %q at %#x", i,
					pieces.Name(x.Name(), limit), x.Entry, whole.Name(y.Name(), limit), y.Entry)
			}
		}
		v, w := pieces.Values(x.SP(), x.Entry), whole.Values(y.SP(), y.Entry)
		for more := true; more; {
			if more = v.Next(); more != w.Next() || v.Value != w.Value || v.End != w.End || v.Malformed != w.Malformed {
				t.Fatalf("function %d has %+v; in the whole table %+v", i, v, w)
			}
		}
		file := pieces.Value(x.File(), x.Entry, x.Entry)
		if got, want := x.Path(file, 1<<10), y.Path(file, 1<<10); string(got) != string(want) {
			t.Fatalf("function %d is in %q; of the whole table in %q", i, got, want)
		}
	}
	for i := range uint64(3) {
		compare(i * pieces.Len / 3)
	}
	if pieces.names.data.whole.Load() != nil {
		t.Error("three functions have the whole table read")
	}
	for i := range pieces.Len {
		compare(i)
	}
	if pieces.names.data.whole.Load() == nil {
		t.Error("a table that was read from end to end is read in pieces")
	}
}

// FuzzOpen looks for a table in a file that has no sections and one segment.
func FuzzOpen(f *testing.F) {
	fuzzing.Bound(f)
	head := append(binary.LittleEndian.AppendUint32(nil, uint32(Go120)), 0, 0, 1, 8)
	f.Add(append(head, make([]byte, 256)...))
	f.Add(append(make([]byte, 64), append(head, 1)...))
	f.Fuzz(func(t *testing.T, data []byte) {
		m := &elfimage.Image{
			Reader: bytes.NewReader(data), Size: int64(len(data)), Order: binary.LittleEndian, Is64: true,
			Segments: []elf.ProgHeader{{Type: elf.PT_LOAD, Flags: elf.PF_R | elf.PF_X, Filesz: uint64(len(data)), Memsz: uint64(len(data))}},
		}
		for _, flags := range []elf.ProgFlag{elf.PF_R | elf.PF_X, elf.PF_R | elf.PF_W} {
			m.Segments[0].Flags = flags
			table, err := Open(m)
			if err != nil {
				continue
			}
			for i := range table.Len {
				fn := table.Func(i)
				fn.Flags()
				fn.Data(3, 0, 16)
				fn.Path(table.Value(fn.File(), fn.Entry, fn.Entry), 1<<10)
				for v := table.Values(fn.PCData(2), fn.Entry); v.Next(); {
					if v.End < v.Start {
						break
					}
				}
				if i == 1000 {
					break
				}
			}
		}
	})
}
