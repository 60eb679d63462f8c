package symbols

import (
	"encoding/binary"

	"github.com/ringtap/ringtap/internal/object/gotable"
)

// maxInlined is the maximum depth of inlined calls.
const maxInlined = 64

// Indexes of the runtime's data about inlined calls (internal/abi/symtab.go).
const (
	pcdataInlTreeIndex = 2
	funcdataInlTree    = 3
)

// goLines reads the source positions in a Go program's own table.
type goLines struct {
	*gotable.Table
	order binary.ByteOrder
}

// lines returns the source positions of addr, the innermost inlined function first
// (runtime/symtabinl.go). The inline index at an address selects an entry of the tree. That
// entry has the address of the inlined call, at which the next index is looked up.
func (t *goLines) lines(addr uint64) []Line {
	i, ok := t.Find(addr)
	if !ok {
		return nil
	}
	f := t.Func(i)
	if f.End <= addr {
		return nil
	}
	var lines []Line
	at := addr
	for len(lines) < maxInlined {
		l := t.position(&f, at)
		call, ok := t.inlined(&f, at)
		if !ok {
			l.Function = string(t.Name(f.Name(), maxSymbolName))
			l.StartLine = f.StartLine()
			return append(lines, l)
		}
		l.Function = string(t.Name(call.name, maxSymbolName))
		l.StartLine = call.startLine
		lines = append(lines, l)
		at = f.Entry + uint64(call.parent)
	}
	return lines
}

// goInlined is an entry of an inline tree.
type goInlined struct {
	name, parent uint32
	startLine    int
}

// inlined returns the inlined call that addr in f belongs to.
func (t *goLines) inlined(f *gotable.Func, addr uint64) (goInlined, bool) {
	return t.entry(f, t.Value(f.PCData(pcdataInlTreeIndex), f.Entry, addr))
}

// callers returns the functions that contain inlined copies of functions whose name matches.
func (t *goLines) callers(match func(name string) bool) (callers []string) {
	wanted := map[uint32]bool{} // by the offset of the name
	for i := range t.Len {
		f := t.Func(i)
		has := false
		indexes := t.Values(f.PCData(pcdataInlTreeIndex), f.Entry)
		for !has && f.Entry < f.End && indexes.Next() {
			call, ok := t.entry(&f, indexes.Value)
			if !ok {
				continue
			}
			is, known := wanted[call.name]
			if !known {
				is = match(string(t.Name(call.name, maxSymbolName)))
				wanted[call.name] = is
			}
			has = is
		}
		if has {
			callers = append(callers, string(t.Name(f.Name(), maxSymbolName)))
		}
	}
	return callers
}

// entry returns an entry of f's inline tree, or false if index is negative. From Go 1.20 on, an
// entry has four words of 4 bytes: function id, name, address of the call, start line. In Go
// 1.18 it had: parent and id, file, line, name, address of the call.
func (t *goLines) entry(f *gotable.Func, index int32) (goInlined, bool) {
	if index < 0 {
		return goInlined{}, false
	}
	size := uint64(16)
	if t.Version == gotable.Go118 {
		size = 20
	}
	b, err := f.Data(funcdataInlTree, uint64(index)*size, size)
	if err != nil {
		return goInlined{}, false
	}
	word := func(i int) uint32 { return t.order.Uint32(b[i*4:]) }
	if t.Version == gotable.Go118 {
		return goInlined{name: word(3), parent: word(4)}, true
	}
	return goInlined{name: word(1), parent: word(2), startLine: int(int32(word(3)))}, true
}

// position returns the file and line of addr.
func (t *goLines) position(f *gotable.Func, addr uint64) Line {
	var l Line
	if line := t.Value(f.Line(), f.Entry, addr); line > 0 {
		l.Line = int(line)
	}
	if file := t.Value(f.File(), f.Entry, addr); file >= 0 {
		l.File = string(f.Path(file, maxSymbolName))
	}
	return l
}
