package hotspot

import (
	"strings"
	"unicode/utf8"

	"github.com/ringtap/ringtap/internal/runtimes/interp"
)

// method is what is known of a Method.
type method struct {
	constMethod uint64
	code        uint64 // address of its bytecodes
	codeSize    uint64
	name        string // as the machine prints it: "int Class.name(int)"
	file        string
	lines       []line // by bytecode index
	age         uint64 // the sample for which it was last checked
}

// line is a line table entry: from bytecode bci on, a source line runs.
type line struct{ bci, line int32 }

const (
	maxSymbol  = 1 << 10 // bytes of a name; longer ones are cut
	maxMethods = 1 << 16 // that are cached
	maxTable   = 1 << 14 // lines of a method
	utf8Tag    = 1       // JVM_CONSTANT_Utf8
)

// methodAt returns the Method at an address, or nil if there is none. A cached one is valid if
// its ConstMethod has not moved.
func (r *Runtime) methodAt(addr uint64) *method {
	if addr == 0 || addr%8 != 0 {
		return nil
	}
	known := r.methods[addr]
	if known != nil && known.age == r.age {
		return known
	}
	v := &view{mem: r.mem}
	at := v.u64(addr + r.layout.methodConst)
	if v.bad {
		return known // the process has ended
	}
	if known != nil && known.constMethod == at {
		known.age = r.age
		return known
	}
	m := r.readMethod(at)
	if m == nil {
		return nil
	}
	m.age = r.age
	if len(r.methods) >= maxMethods {
		clear(r.methods)
	}
	r.methods[addr] = m
	return m
}

// readMethod reads the ConstMethod at addr. It returns nil if its names are not text in the
// constant pool.
func (r *Runtime) readMethod(addr uint64) *method {
	if addr == 0 || addr%8 != 0 {
		return nil
	}
	l, v := r.layout, &view{mem: r.mem}
	pool := v.u64(addr + l.constants)
	tags, length, holder := v.u64(pool+l.tags), uint64(v.u32(pool+l.poolLength)), v.u64(pool+l.holder)
	symbol := func(index uint64) string {
		if index == 0 || index >= length || v.u8(tags+l.tagsData+index) != utf8Tag {
			v.bad = true
			return ""
		}
		return r.symbol(v, v.u64(pool+l.poolSize+8*index))
	}
	name, signature := symbol(uint64(v.u16(addr+l.nameIndex))), symbol(uint64(v.u16(addr+l.signatureIndex)))
	class := className(r.symbol(v, v.u64(holder+l.klassName)))
	if v.bad {
		return nil
	}
	m := &method{constMethod: addr, code: addr + l.constSize, codeSize: uint64(v.u16(addr + l.codeSize)), name: external(class, name, signature)}
	if index := r.sourceFile(v, pool, holder); index != 0 {
		m.file = symbol(index)
	}
	if v.u32(addr+l.constFlags)&l.lineTable != 0 {
		m.lines = readLines(r.mem, m.code+m.codeSize, r.biased)
	}
	return m
}

// className returns a class's name as the machine prints it. A hidden class's name is followed
// by an address.
func className(symbol string) string {
	return strings.ReplaceAll(strings.ReplaceAll(symbol, "/", "."), "+0x", "/0x")
}

// sourceFile returns the constant pool index of the source file's name, or 0 if there is none.
func (r *Runtime) sourceFile(v *view, pool, holder uint64) uint64 {
	switch l := r.layout; {
	case l.sourceFile != absent:
		return uint64(v.u16(pool + l.sourceFile))
	case l.klassSourceFile != absent:
		return uint64(v.u16(holder + l.klassSourceFile))
	}
	return 0
}

// symbol reads a Symbol, and sets v.bad if it is not text.
func (r *Runtime) symbol(v *view, addr uint64) string {
	n := uint64(v.u16(addr + r.layout.symbolLength))
	if v.bad || addr == 0 || n == 0 {
		v.bad = true
		return ""
	}
	b := make([]byte, min(n, maxSymbol))
	if !v.mem.Read(addr+r.layout.symbolBody, b) {
		v.bad = true
		return ""
	}
	for n := range b {
		if b[n] < ' ' {
			v.bad = true
			return ""
		}
	}
	return strings.ToValidUTF8(string(b), string(utf8.RuneError))
}

// external returns a method as the machine prints it (Method::external_name): result type,
// class, name and parameter types.
func external(class, name, signature string) string {
	text := class + "." + name
	parameters, result, ok := strings.Cut(strings.TrimPrefix(signature, "("), ")")
	if !ok {
		return text
	}
	var b strings.Builder
	of, rest := typeName(result)
	if rest == "" && of != "" {
		b.WriteString(of + " ")
	}
	b.WriteString(text + "(")
	for n := 0; parameters != ""; n++ {
		if n > 0 {
			b.WriteString(", ")
		}
		of, parameters = typeName(parameters)
		b.WriteString(of)
	}
	b.WriteString(")")
	return b.String()
}

// typeName returns the first type of a descriptor in words (The Java Virtual Machine
// Specification, 4.3.2), and the rest of the descriptor.
func typeName(descriptor string) (name, rest string) {
	rest = strings.TrimLeft(descriptor, "[")
	arrays := strings.Repeat("[]", len(descriptor)-len(rest))
	if rest == "" {
		return "", ""
	}
	words := map[byte]string{'B': "byte", 'C': "char", 'D': "double", 'F': "float", 'I': "int", 'J': "long", 'S': "short", 'Z': "boolean", 'V': "void"}
	if rest[0] == 'L' {
		class, after, _ := strings.Cut(rest[1:], ";")
		return strings.ReplaceAll(class, "/", ".") + arrays, after
	}
	if word, ok := words[rest[0]]; ok {
		return word + arrays, rest[1:]
	}
	return "", ""
}

// frame returns the method's frame at a bytecode index. An index of -1 means unknown.
func (m *method) frame(bci int) interp.Frame {
	f := interp.Frame{Function: m.name, File: m.file}
	best := int32(-1)
	for _, l := range m.lines {
		if int(l.bci) <= bci && l.bci >= best {
			best, f.Line = l.bci, int(l.line)
		}
	}
	return f
}

// readLines reads the compressed line table at addr: pairs of increments of bytecode index and
// line. Small ones share a byte (CompressedLineNumberReadStream).
func readLines(mem interp.Memory, addr uint64, biased bool) []line {
	const escape = 0xff
	s := stream{mem: mem, at: addr, biased: biased}
	var lines []line
	var now line
	for len(lines) < maxTable {
		b := s.next()
		switch {
		case s.bad || b == 0:
			return lines
		case b == escape:
			now.bci += s.signed()
			now.line += s.signed()
		default:
			now.bci += int32(b >> 3)
			now.line += int32(b & 7)
		}
		if s.bad || now.line < 0 || now.bci < 0 {
			return lines
		}
		lines = append(lines, now)
	}
	return lines
}
