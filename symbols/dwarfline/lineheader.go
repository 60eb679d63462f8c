package dwarfline

import (
	"errors"
	"fmt"

	"github.com/ringtap/ringtap/internal/object/bytecursor"
)

// Content types of DWARF 5 file and directory entries (section 6.2.4.1).
const (
	contentPath      = 1
	contentDirectory = 2
)

// fileEntry is a file or directory of a line table, with its name unresolved.
type fileEntry struct {
	name value
	dir  uint32
}

// lineTable is the decoded line number program of a unit (DWARF 5 section 6.2).
type lineTable struct {
	encoding
	dirs      []fileEntry
	files     []fileEntry
	paths     map[uint32]string // of files looked up so far
	rows      []row
	sequences []sequence
	wanted    *wantedLine // receives each row if we search for a line
}

// lineProgram has the fields of the header that the program needs.
type lineProgram struct {
	minLength  uint64
	lineBase   int64
	lineRange  uint8
	opcodeBase uint8
	lengths    []byte // of the standard opcodes, starting with opcode 1
	statement  bool   // default of is_stmt
}

// readLines reads the header of the unit's line table and runs its program. The table is never
// nil; on an error it has the rows read before it.
func (x *Index) readLines(u *unit, r *root) (*lineTable, error) {
	t := &lineTable{encoding: u.encoding}
	if !r.hasLine {
		return t, nil
	}
	c, p, err := x.readLineHeader(t, r)
	if err != nil {
		return t, err
	}
	t.run(&c, &p)
	if c.Err() != nil {
		return t, fmt.Errorf("run line table at %#x: %w", r.line, c.Err())
	}
	return t, nil
}

// readLineHeader reads the header of the unit's line table into t, and returns a cursor at its
// program.
func (x *Index) readLineHeader(t *lineTable, r *root) (bytecursor.Cursor, lineProgram, error) {
	c := bytecursor.New(x.s.line, r.line, x.s.order)
	length, size := unitLength(&c)
	if c.Err() == nil && length > c.Left() {
		c.Fail(bytecursor.ErrShort)
	}
	if c.Err() == nil {
		c.Limit(length)
	}
	t.offsetSize = uint8(size)
	if t.version = c.U16(); c.Err() == nil && (t.version < 2 || t.version > 5) {
		return c, lineProgram{}, fmt.Errorf("line table at %#x: unknown version %d", r.line, t.version)
	}
	if t.version == 5 {
		t.addrSize = c.U8()
		c.U8() // segment selector size
	}
	header := c.Uint(size)
	if header > c.Left() {
		c.Fail(bytecursor.ErrShort)
	}
	begin := c.Offset() + header
	p := lineProgram{minLength: uint64(c.U8())}
	if t.version >= 4 {
		c.U8() // operations per instruction: 1 except on VLIW machines
	}
	p.statement = c.U8() != 0
	p.lineBase = int64(int8(c.U8()))
	p.lineRange = c.U8()
	p.opcodeBase = c.U8()
	p.lengths = c.Bytes(uint64(max(p.opcodeBase, 1) - 1))
	if c.Err() == nil && p.lineRange == 0 {
		c.Fail(errors.New("line range of zero"))
	}
	if t.version == 5 {
		t.dirs = t.readEntries(&c)
		t.files = t.readEntries(&c)
	} else {
		t.readNames(&c)
	}
	if c.Err() != nil {
		return c, p, fmt.Errorf("read header of line table at %#x: %w", r.line, c.Err())
	}
	c.Seek(begin)
	return c, p, nil
}

// readNames reads the directories and files of DWARF 2 to 4. Both are numbered from 1;
// directory 0 is the compilation directory.
func (t *lineTable) readNames(c *bytecursor.Cursor) {
	t.dirs = make([]fileEntry, 1)
	for {
		name := c.CString()
		if len(name) == 0 {
			break
		}
		t.dirs = append(t.dirs, fileEntry{name: value{form: formString, str: name}})
	}
	t.files = make([]fileEntry, 1) // no file has number 0
	for {
		name := c.CString()
		if len(name) == 0 {
			break
		}
		t.addFile(c, name)
	}
}

// addFile reads the numbers after a file's name.
func (t *lineTable) addFile(c *bytecursor.Cursor, name []byte) {
	f := fileEntry{name: value{form: formString, str: name}, dir: clip(c.ULEB())}
	c.ULEB() // time of modification
	c.ULEB() // length
	t.files = append(t.files, f)
}

// readEntries reads a list of directories or files of DWARF 5, which starts with the format of
// its entries.
func (t *lineTable) readEntries(c *bytecursor.Cursor) []fileEntry {
	type column struct {
		content uint64
		form    form
	}
	var columns []column
	for n := c.U8(); n > 0; n-- {
		columns = append(columns, column{c.ULEB(), form(min(c.ULEB(), 0xffff))})
	}
	var entries []fileEntry
	for n := c.ULEB(); n > 0 && c.Err() == nil; n-- {
		before := c.Offset()
		var e fileEntry
		for _, col := range columns {
			switch v := t.read(c, col.form); col.content {
			case contentPath:
				e.name = v
			case contentDirectory:
				e.dir = clip(v.num)
			}
		}
		if c.Offset() == before {
			c.Fail(errors.New("file entry without content"))
		}
		entries = append(entries, e)
	}
	return entries
}
