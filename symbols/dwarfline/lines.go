package dwarfline

import (
	"cmp"
	"errors"
	"slices"
	"sort"

	"github.com/ringtap/ringtap/internal/object/bytecursor"
)

// maxRows is the maximum number of rows kept per line table.
const maxRows = 1 << 22

// row gives the source line of the code from addr to the next row.
type row struct {
	addr uint64
	file uint32
	line uint32
}

// sequence is a run of rows[first:end] that covers the addresses of its span.
type sequence struct {
	span
	first, end int32
}

// Opcodes (DWARF 5 sections 7.22).
const (
	opExtended     = 0
	opCopy         = 1
	opAdvancePC    = 2
	opAdvanceLine  = 3
	opSetFile      = 4
	opNegateStmt   = 6
	opConstAddPC   = 8
	opFixedAdvance = 9

	extEndSequence = 1
	extSetAddress  = 2
	extDefineFile  = 3
)

// run executes the line number program up to the end of c.
func (t *lineTable) run(c *bytecursor.Cursor, p *lineProgram) {
	initial := row{file: 1, line: 1}
	now := initial
	first := 0 // first row of the sequence
	statement := p.statement
	for c.Left() > 0 && c.Err() == nil {
		op := c.U8()
		if op >= p.opcodeBase {
			op -= p.opcodeBase
			now.addr += uint64(op/p.lineRange) * p.minLength
			now.line += uint32(p.lineBase + int64(op%p.lineRange))
			t.emit(first, now, statement)
			continue
		}
		switch op {
		case opCopy:
			t.emit(first, now, statement)
		case opAdvancePC:
			now.addr += c.ULEB() * p.minLength
		case opAdvanceLine:
			now.line += uint32(c.SLEB())
		case opSetFile:
			now.file = clip(c.ULEB())
		case opNegateStmt:
			statement = !statement
		case opConstAddPC:
			now.addr += uint64((255-p.opcodeBase)/p.lineRange) * p.minLength
		case opFixedAdvance:
			now.addr += uint64(c.U16())
		case opExtended:
			if !t.extended(c, &now) {
				continue
			}
			t.endSequence(first, now.addr)
			first = len(t.rows)
			now, statement = initial, p.statement
		default:
			for n := p.lengths[op-1]; n > 0; n-- {
				c.ULEB()
			}
		}
		if len(t.rows) > maxRows {
			c.Fail(errors.New("more rows than any real unit has"))
		}
	}
	t.rows = slices.Clip(t.rows[:first])
	slices.SortStableFunc(t.sequences, func(a, b sequence) int { return cmp.Compare(a.low, b.low) })
}

// extended executes an extended opcode. It returns true at the end of a sequence.
func (t *lineTable) extended(c *bytecursor.Cursor, now *row) bool {
	arg := c.Bytes(c.ULEB())
	if len(arg) == 0 {
		return false
	}
	switch arg[0] {
	case extEndSequence:
		return true
	case extSetAddress:
		a := bytecursor.New(arg, 1, c.Order())
		now.addr = a.Uint(len(arg) - 1)
	case extDefineFile:
		a := bytecursor.New(arg, 1, c.Order())
		if name := a.CString(); a.Err() == nil {
			t.addFile(&a, name)
		}
	}
	return false
}

// emit adds a row to the sequence that starts at row first. It keeps only rows that find needs:
// the last row of an address, and the first of equal lines.
func (t *lineTable) emit(first int, r row, statement bool) {
	if t.wanted != nil && statement {
		t.wanted.row(r)
	}
	n := len(t.rows)
	switch {
	case n > first && t.rows[n-1].addr == r.addr:
		t.rows[n-1] = r
	case n > first && r.addr > t.rows[n-1].addr && t.rows[n-1].file == r.file && t.rows[n-1].line == r.line:
	default:
		t.rows = append(t.rows, r)
	}
}

// endSequence closes the sequence that starts at row first. It drops sequences that the linker
// removed from the file.
func (t *lineTable) endSequence(first int, end uint64) {
	rows := t.rows[first:]
	if len(rows) == 0 {
		return
	}
	byAddr := func(a, b row) int { return cmp.Compare(a.addr, b.addr) }
	if !slices.IsSortedFunc(rows, byAddr) {
		slices.SortStableFunc(rows, byAddr)
	}
	s := span{rows[0].addr, end}
	if t.wanted != nil {
		t.wanted.endSequence(s.real())
	}
	if !s.real() {
		t.rows = t.rows[:first]
		return
	}
	t.sequences = append(t.sequences, sequence{s, int32(first), int32(len(t.rows))})
}

// find returns the file number and the line of the code at addr.
func (t *lineTable) find(addr uint64) (file, line uint32, ok bool) {
	i := sort.Search(len(t.sequences), func(i int) bool { return t.sequences[i].low > addr }) - 1
	for n := 0; i >= 0 && n < maxOverlaps; i, n = i-1, n+1 {
		s := &t.sequences[i]
		if addr >= s.high {
			continue
		}
		rows := t.rows[s.first:s.end]
		j := sort.Search(len(rows), func(j int) bool { return rows[j].addr > addr }) - 1
		return rows[j].file, rows[j].line, true
	}
	return 0, 0, false
}
