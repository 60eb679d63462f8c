package callchain

import (
	"bufio"
	"bytes"
	"debug/elf"
	"fmt"
	"io"
	"os"
	"strings"
	"testing"
)

// fixedSpace is an address space that does not change.
type fixedSpace struct {
	mappings []Mapping
	version  uint64
}

func (s *fixedSpace) Find(pc uint64) (Mapping, bool) {
	for _, m := range s.mappings {
		if pc >= m.Start && pc < m.End {
			return m, true
		}
	}
	return Mapping{}, false
}

func (s *fixedSpace) Version() uint64 { return s.version }

// fileSpace is the address space of a program that is not relocated.
func fileSpace(t testing.TB, path string) *fixedSpace {
	t.Helper()
	f, err := elf.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	space := &fixedSpace{version: 1}
	table := compileFile(t, path)
	for _, p := range f.Progs {
		if p.Type == elf.PT_LOAD && p.Flags&elf.PF_X != 0 {
			space.mappings = append(space.mappings, Mapping{
				Start: p.Vaddr, End: p.Vaddr + p.Memsz, Offset: p.Off, Object: 1, Table: table})
		}
	}
	return space
}

// procSpace reads the address space of a live process, and compiles each file
// once.
type procSpace struct {
	fixedSpace
	t       testing.TB
	pid     int
	objects map[string]object
	top     uint64 // end of the main thread's stack
}

type object struct {
	id    ObjectID
	table *Table
}

func newProcSpace(t testing.TB, pid int) *procSpace {
	return &procSpace{t: t, pid: pid, objects: make(map[string]object)}
}

// read takes the mappings anew.
func (s *procSpace) read() error {
	maps, err := os.ReadFile(fmt.Sprintf("/proc/%d/maps", s.pid))
	if err != nil {
		return err
	}
	s.mappings = s.mappings[:0]
	s.version++
	lines := bufio.NewScanner(bytes.NewReader(maps))
	for lines.Scan() {
		var start, end, offset, inode uint64
		var perm, device, path string
		fmt.Sscanf(lines.Text(), "%x-%x %s %x %s %d %s", &start, &end, &perm, &offset, &device, &inode, &path)
		if path == "[stack]" {
			s.top = end
		}
		if !strings.Contains(perm, "x") {
			continue
		}
		o := s.object(path, start, end)
		if inode == 0 && path != "[vdso]" {
			offset = start
		}
		s.mappings = append(s.mappings, Mapping{Start: start, End: end, Offset: offset, Object: o.id, Table: o.table})
	}
	return nil
}

func (s *procSpace) object(path string, start, end uint64) object {
	if o, ok := s.objects[path]; ok {
		return o
	}
	o := object{id: ObjectID(len(s.objects) + 1)}
	name := path
	if path == "[vdso]" {
		name = fmt.Sprintf("/proc/%d/mem", s.pid)
	}
	if f, err := os.Open(name); err == nil {
		s.t.Cleanup(func() { f.Close() }) // the table goes on to read it
		var r io.ReaderAt = f
		if path == "[vdso]" {
			r = io.NewSectionReader(f, int64(start), int64(end-start))
		}
		o.table, _ = Compile(r) // nil for memory without a table
	}
	s.objects[path] = o
	return o
}
