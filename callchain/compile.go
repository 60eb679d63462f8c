package callchain

import (
	"cmp"
	"debug/elf"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"math"
	"slices"

	"github.com/ringtap/ringtap/internal/elfimage"
	"github.com/ringtap/ringtap/internal/gotable"
)

// ErrNoTable says that a file holds no unwind information that ringtap reads:
// no .eh_frame, no .debug_frame, no Go function table. Its code is unwound by
// frame pointer.
var ErrNoTable = errors.New("no unwind information")

// source orders the functions that several sections describe alike: the
// first one is believed.
type source uint8

const (
	fromEHFrame source = iota
	fromGo
	fromDebugFrame
	fromTrampoline
	fromPLT
)

// function is one function's unwind information before it is compiled.
type function struct {
	start, end uint64 // file offsets
	source     source
	index      int    // CIE, or the function's place in Go's table
	vaddr      uint64 // of start
	program    []byte
}

// Compile reads the unwind information of an ELF file for amd64 or arm64 and
// makes its table: .eh_frame (found by its section, or by PT_GNU_EH_FRAME in a
// file without sections), Go's pclntab, and .debug_frame for what these two do
// not cover. Of what is malformed the readable part is used. The error wraps
// ErrNoTable for a file that has nothing to read.
//
// The file is read as untrusted: memory and work are bounded by its size.
// Sections of call frame information above 128 MiB are refused.
func Compile(f io.ReaderAt) (*Table, error) {
	file, err := elfimage.New(f, math.MaxInt64)
	if err != nil {
		return nil, fmt.Errorf("compile unwind table: %w", err)
	}
	arch := archOf(file.Machine)
	if arch == 0 || !file.Is64 || file.Order != binary.LittleEndian {
		return nil, fmt.Errorf("compile unwind table: %v is not supported: %w", file.Machine, ErrNoTable)
	}
	c := compiler{file: file, arch: arch, code: codeSegments(file)}
	broken := c.collect()
	if len(c.functions) == 0 {
		return nil, errors.Join(fmt.Errorf("compile unwind table: %w", ErrNoTable), broken)
	}
	return c.compile(), nil
}

// compiler holds what is read from one file.
type compiler struct {
	file      *elfimage.Image
	arch      Arch
	code      []*elf.ProgHeader // executable segments
	sections  [fromDebugFrame + 1]*frameSection
	golang    *gotable.Table
	functions []function
	exprs     exprArena
}

// collect finds all functions. Its error says what was broken.
func (c *compiler) collect() error {
	eh, errEH := c.ehFrame()
	if eh != nil {
		errEH = c.read(eh, fromEHFrame)
	}
	var errGo, errDebug error
	if c.golang, errGo = findGoTable(c.file); c.golang != nil {
		c.addGo()
	} else {
		// A Go binary's .debug_frame says less than its pclntab does: nothing
		// about the frame pointer.
		var debug *frameSection
		if debug, errDebug = c.debugFrame(); debug != nil {
			errDebug = c.read(debug, fromDebugFrame)
		}
	}
	if len(c.functions) > 0 {
		c.addPLT()
	}
	c.addTrampolines() // Linux 6.1's vdso for arm64 has nothing else
	return errors.Join(errEH, errGo, errDebug)
}

func (c *compiler) read(s *frameSection, from source) error {
	c.sections[from] = s
	c.functions = slices.Grow(c.functions, len(s.data)/40) // an FDE's usual size
	return s.walk(&c.exprs, func(f fde) {
		c.add(function{source: from, index: f.cie, program: f.program}, f.start, f.end)
	})
}

// maxFunctions is some times the number that the largest programs have.
const maxFunctions = 2 << 20

// add keeps a function if it lies in an executable segment of the file. Those
// that the linker dropped are left at address zero.
func (c *compiler) add(f function, start, end uint64) {
	if start == 0 || len(c.functions) == maxFunctions {
		return
	}
	for _, p := range c.code {
		if start-p.Vaddr >= p.Filesz {
			continue
		}
		f.vaddr = start
		f.start = start - p.Vaddr + p.Off
		f.end = f.start + min(end-start, p.Filesz-(start-p.Vaddr))
		c.functions = append(c.functions, f)
		return
	}
}

// compile turns the functions into rows.
func (c *compiler) compile() *Table {
	slices.SortStableFunc(c.functions, func(a, b function) int {
		return cmp.Or(cmp.Compare(a.start, b.start), cmp.Compare(a.source, b.source))
	})
	b := newBuilder(c.arch, c.functions[0].start)
	b.exprs = c.exprs
	b.table.starts = make([]uint32, 0, 7*len(c.functions)) // what libraries have
	b.table.rows = make([]uint16, 0, 7*len(c.functions))
	framed, total := 0, 0
	for i := range c.functions {
		f := &c.functions[i]
		if !b.begin(f.start, f.end) {
			continue
		}
		total++
		switch {
		case f.source == fromTrampoline:
			b.add(f.start, b.trampolineSet())
		case f.source == fromPLT:
			b.plt(f)
		case f.source == fromGo:
			b.golang(c.golang, f)
			framed++
		case c.sections[f.source].compile(b, f):
			framed++
		}
	}
	b.table.framePointers = framed*2 > total
	return b.finish()
}

// compile runs a function's program and adds its rows. It reports whether the
// function keeps a frame record for a frame-pointer walk to follow.
func (s *frameSection) compile(b *builder, f *function) bool {
	c := &s.cies[f.index]
	p := &b.program
	*p = program{code: reader{data: f.program}, cie: c, exprs: &b.exprs, loc: f.vaddr, row: c.initial,
		remembered: p.remembered[:0]}
	framed := false
	m := describe(b.table.arch)
	emit := func(loc uint64, r *row) {
		var flags setFlags
		if c.signal {
			flags |= flagSignal
		}
		if m.hasFrameRecord(r) {
			flags |= flagRecord
			framed = true
		}
		b.add(f.start+(loc-f.vaddr), b.set(r, c.ra, flags))
	}
	if p.run(emit) {
		emit(p.loc, &p.row)
	} else {
		b.add(f.start+(p.loc-f.vaddr), 0)
	}
	return framed
}

// hasFrameRecord says whether a row is one of a function that has pushed a
// frame record and points the frame pointer at it.
func (m *machine) hasFrameRecord(r *row) bool {
	fp, ra := r.regs[m.fp], r.regs[m.ra]
	if fp.kind != ruleOffset || ra.kind != ruleOffset || ra.val != fp.val+8 {
		return false
	}
	// arm64 compilers keep x29 at the record in every function that has one,
	// but base the CFA on sp.
	return m.ra != m.pc || r.cfa.kind == ruleValOffset && r.cfa.reg == m.fp
}
