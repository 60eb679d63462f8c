package dwarfline

import (
	"errors"
	"fmt"
)

// Content types of DWARF 5 file and directory entries (section 6.2.4.1).
const (
	contentPath      = 1
	contentDirectory = 2
)

// fileEntry is a file or directory of a line table, its name not read yet.
type fileEntry struct {
	name value
	dir  uint32
}

// lineTable is the decoded line number program of a unit (DWARF 5 section 6.2).
type lineTable struct {
	encoding
	dirs      []fileEntry
	files     []fileEntry
	paths     map[uint32]string // of files asked for
	rows      []row
	sequences []sequence
	wanted    *wantedLine // told of each row when somebody looks for a line
}

// lineProgram is the part of the header that the program needs.
type lineProgram struct {
	minLength  uint64
	lineBase   int64
	lineRange  uint8
	opcodeBase uint8
	lengths    []byte // of the standard opcodes, from opcode 1 on
	statement  bool   // whether rows begin as statements
}

// readLines reads the header of the unit's line table and runs its program. It
// returns a table, if an empty one, also with an error.
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
	if c.err != nil {
		return t, fmt.Errorf("run line table at %#x: %w", r.line, c.err)
	}
	return t, nil
}

// readLineHeader reads the header of the unit's line table to t, and returns
// its program.
func (x *Index) readLineHeader(t *lineTable, r *root) (cursor, lineProgram, error) {
	c := at(x.s.line, r.line, x.s.order)
	length, size := c.unitLength()
	if c.err == nil && length > c.left() {
		c.fail(errShort)
	}
	if c.err == nil {
		c.data = c.data[:c.off+length]
	}
	t.offsetSize = uint8(size)
	if t.version = c.u16(); c.err == nil && (t.version < 2 || t.version > 5) {
		return c, lineProgram{}, fmt.Errorf("line table at %#x: unknown version %d", r.line, t.version)
	}
	if t.version == 5 {
		t.addrSize = c.u8()
		c.u8() // segment selector size
	}
	header := c.uint(size)
	if header > c.left() {
		c.fail(errShort)
	}
	begin := c.off + header
	p := lineProgram{minLength: uint64(c.u8())}
	if t.version >= 4 {
		c.u8() // operations per instruction: 1 but on VLIW machines
	}
	p.statement = c.u8() != 0
	p.lineBase = int64(int8(c.u8()))
	p.lineRange = c.u8()
	p.opcodeBase = c.u8()
	p.lengths = c.bytes(uint64(max(p.opcodeBase, 1) - 1))
	if c.err == nil && p.lineRange == 0 {
		c.fail(errors.New("line range of zero"))
	}
	if t.version == 5 {
		t.dirs = t.readEntries(&c)
		t.files = t.readEntries(&c)
	} else {
		t.readNames(&c)
	}
	if c.err != nil {
		return c, p, fmt.Errorf("read header of line table at %#x: %w", r.line, c.err)
	}
	c.off = begin
	return c, p, nil
}

// readNames reads the directories and files of DWARF 2 to 4. Their numbers
// begin at 1; directory 0 is the one of compilation.
func (t *lineTable) readNames(c *cursor) {
	t.dirs = make([]fileEntry, 1)
	for {
		name := c.cstring()
		if len(name) == 0 {
			break
		}
		t.dirs = append(t.dirs, fileEntry{name: value{form: formString, str: name}})
	}
	t.files = make([]fileEntry, 1) // no file has number 0
	for {
		name := c.cstring()
		if len(name) == 0 {
			break
		}
		t.addFile(c, name)
	}
}

// addFile reads the numbers behind a file's name.
func (t *lineTable) addFile(c *cursor, name []byte) {
	f := fileEntry{name: value{form: formString, str: name}, dir: clip(c.uleb())}
	c.uleb() // time of modification
	c.uleb() // length
	t.files = append(t.files, f)
}

// readEntries reads a list of directories or files of DWARF 5, the format of
// its entries first.
func (t *lineTable) readEntries(c *cursor) []fileEntry {
	type column struct {
		content uint64
		form    form
	}
	var columns []column
	for n := c.u8(); n > 0; n-- {
		columns = append(columns, column{c.uleb(), form(min(c.uleb(), 0xffff))})
	}
	var entries []fileEntry
	for n := c.uleb(); n > 0 && c.err == nil; n-- {
		before := c.off
		var e fileEntry
		for _, col := range columns {
			switch v := t.read(c, col.form); col.content {
			case contentPath:
				e.name = v
			case contentDirectory:
				e.dir = clip(v.num)
			}
		}
		if c.off == before {
			c.fail(errors.New("file entry without content"))
		}
		entries = append(entries, e)
	}
	return entries
}
