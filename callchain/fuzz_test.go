package callchain

import (
	"bytes"
	"debug/elf"
	"encoding/binary"
	"os"
	"testing"

	"github.com/ringtap/ringtap/internal/object/gotable"
	"github.com/ringtap/ringtap/internal/testkit/fuzzing"
)

// checkTable reports what no table may be, whatever it was compiled from.
func checkTable(t *testing.T, table *Table) {
	t.Helper()
	size := 0
	for i, u := range table.units {
		if u.start >= u.end || i > 0 && u.start < table.units[i-1].end {
			t.Fatalf("unit %d is from %#x to %#x", i, u.start, u.end)
		}
		if size += u.rows.bytes(); len(u.rows.starts) != len(u.rows.rows) {
			t.Fatalf("%d starts, %d rows", len(u.rows.starts), len(u.rows.rows))
		}
		for i, row := range u.rows.rows {
			if i > 0 && u.rows.starts[i] <= u.rows.starts[i-1] {
				t.Fatalf("row %d starts at %#x, after one at %#x", i, u.rows.starts[i], u.rows.starts[i-1])
			}
			if int(row) >= len(u.rows.sets) {
				t.Fatalf("row %d has set %d of %d", i, row, len(u.rows.sets))
			}
		}
	}
	if size != table.Bytes() || size > 2*maxBytes {
		t.Fatalf("the rows take %d bytes, the table says %d", size, table.Bytes())
	}
}

// unwindEverywhere unwinds a stack of pointers to itself from every row.
func unwindEverywhere(table *Table) {
	const base = 0x7f0000
	space := &fixedSpace{version: 1, mappings: []Mapping{
		{Start: 0, End: 1 << 47, Object: 1, Table: table}}}
	c := Capture{Stack: make([]byte, 256)}
	for i := 0; i < len(c.Stack); i += 8 {
		binary.LittleEndian.PutUint64(c.Stack[i:], base+uint64(i))
	}
	u := New(table.arch)
	values := make([]uint64, 33)
	for i := range values {
		values[i] = base + uint64(i)*8
	}
	mask := table.arch.UserRegsMask()
	if table.arch == AMD64 {
		values = values[:17]
	}
	var dst []Frame
	for _, unit := range table.units[:min(len(table.units), 100)] {
		for _, start := range unit.rows.starts[:min(len(unit.rows.starts), 100)] {
			if c.Regs.Load(table.arch, mask, values) != nil {
				return
			}
			c.Regs.v[u.machine.pc] = unit.rows.base + uint64(start)
			dst, _ = u.Unwind(dst[:0], space, &c)
		}
	}
}

// section reads a section of a recorded program.
func section(f *testing.F, arch Arch, name string) []byte {
	f.Helper()
	file, err := elf.Open("testdata/bare." + arch.String() + ".elf")
	if err != nil {
		f.Fatal(err)
	}
	defer file.Close()
	data, err := file.Section(name).Data()
	if err != nil {
		f.Fatal(err)
	}
	return data
}

func FuzzFrameSection(f *testing.F) {
	f.Add(section(f, AMD64, ".eh_frame"), false, false)
	f.Add(section(f, ARM64, ".eh_frame"), false, true)
	f.Fuzz(func(t *testing.T, data []byte, debug, arm bool) {
		arch := AMD64
		if arm {
			arch = ARM64
		}
		name := ".eh_frame"
		if debug {
			name = ".debug_frame"
		}
		table := fuzzFile(arch, name, data)
		if table.open() != nil || table.empty() {
			return
		}
		compileAll(table)
		checkTable(t, table)
		for _, u := range table.units {
			if len(u.rows.starts) > 8*len(data) {
				t.Fatalf("%d rows of %d bytes", len(u.rows.starts), len(data))
			}
		}
		unwindEverywhere(table)
	})
}

func FuzzCompile(f *testing.F) {
	fuzzing.Bound(f)
	for _, arch := range []Arch{AMD64, ARM64} {
		program, err := os.ReadFile("testdata/bare." + arch.String() + ".elf")
		if err != nil {
			f.Fatal(err)
		}
		f.Add(program)
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		if table, err := Compile(bytes.NewReader(data)); err == nil {
			compileAll(table)
			checkTable(t, table)
			unwindEverywhere(table)
		}
	})
}

func FuzzGoTable(f *testing.F) {
	fuzzing.Bound(f)
	f.Add(goTableBytes())
	f.Fuzz(func(t *testing.T, data []byte) {
		table := fuzzFile(AMD64, "", nil)
		var err error
		if table.golang, err = gotable.New(table.file, 0, data); err == nil {
			compileAll(table)
			checkTable(t, table)
		}
	})
}

func FuzzExpression(f *testing.F) {
	// A PLT entry's CFA: rsp + 8 + ((rip & 15) >= 11) << 3.
	f.Add([]byte{opBreg0 + 7, 8, opBreg0 + 16, 0, opLit0 + 15, opAnd, opLit0 + 11, opGe, opLit0 + 3, opShl, opPlus}, []byte("stack"))
	f.Fuzz(func(t *testing.T, code, stack []byte) {
		regs := Regs{arch: AMD64, known: 1<<17 - 1}
		for i := range regs.v {
			regs.v[i] = uint64(i) << 4
		}
		e := evaluator{regs: &regs, mem: &memory{base: 0x40, data: stack, size: 8}}
		first, ok := e.run(code, 0x50)
		if second, again := e.run(code, 0x50); first != second || ok != again {
			t.Fatalf("%#x, %v the first time, then %#x, %v", first, ok, second, again)
		}
	})
}

func FuzzUnwind(f *testing.F) {
	fuzzing.Bound(f)
	spaces := make(map[Arch]*fixedSpace)
	for _, arch := range []Arch{AMD64, ARM64} {
		space, stops := load(f, arch)
		spaces[arch] = space
		for _, stop := range stops[:8] {
			var registers []byte
			for _, v := range stop.Registers {
				registers = binary.LittleEndian.AppendUint64(registers, v)
			}
			f.Add(arch == ARM64, registers, stop.Stack, []byte{})
		}
	}
	f.Fuzz(func(t *testing.T, arm bool, registers, stack, chain []byte) {
		arch, n := AMD64, 17
		if arm {
			arch, n = ARM64, 33
		}
		values := make([]uint64, n)
		for i := range min(n, len(registers)/8) {
			values[i] = binary.LittleEndian.Uint64(registers[8*i:])
		}
		c := Capture{Stack: stack}
		for i := 0; i+8 <= len(chain); i += 8 {
			c.Chain = append(c.Chain, binary.LittleEndian.Uint64(chain[i:]))
		}
		if err := c.Regs.Load(arch, arch.UserRegsMask(), values); err != nil {
			t.Fatal(err)
		}
		u := New(arch)
		limit := len(stack)/8 + 2
		if frames, _ := u.Unwind(nil, spaces[arch], &c); len(frames) > limit {
			t.Fatalf("%d frames from %d bytes of stack", len(frames), len(stack))
		}
		if frames, _ := u.FromCallchain(nil, spaces[arch], &c); len(frames) > len(c.Chain)+1 {
			t.Fatalf("%d frames from a chain of %d", len(frames), len(c.Chain))
		}
		if frames, _ := u.Auto(nil, spaces[arch], &c); len(frames) > limit+len(c.Chain) {
			t.Fatalf("%d frames", len(frames))
		}
		c.Beyond = paged(&c, c.Regs.SP()+uint64(len(stack)/2))
		c.Stack = stack[:len(stack)/2]
		limit += c.Beyond.size() / 8
		if frames, _ := u.Auto(nil, spaces[arch], &c); len(frames) > limit+len(c.Chain) {
			t.Fatalf("%d frames from %d bytes of stack and %d pages", len(frames), len(c.Stack), len(c.Beyond.Pages))
		}
		u.Reach()
	})
}
