package v8

import (
	"bytes"
	"debug/elf"
	"sort"

	"github.com/ringtap/ringtap/internal/object/elfimage"
)

// builtins are the engine's own functions in a program, by file offset.
type builtins struct {
	begins   []uint64
	names    []string
	end      uint64
	stripped bool // the file has no symbols for them
}

const (
	builtinPrefix  = "Builtins_"
	maxSymbolTable = 256 << 20
	maxBuiltins    = 1 << 14
	maxBuiltinName = 256
	maxBuiltinSize = 64 << 10 // of the last builtin
)

// readBuiltins reads the builtins from a program's symbols. The list is empty if the program
// was stripped.
func readBuiltins(image *elfimage.Image) (*builtins, error) {
	table, ok := image.SectionOf(elf.SHT_SYMTAB)
	if !ok || int(table.Link) >= len(image.Sections) || table.Size > maxSymbolTable {
		return &builtins{}, nil
	}
	symbols, err := image.Bytes(table)
	if err != nil {
		return nil, err
	}
	text, err := image.Bytes(&image.Sections[table.Link])
	if err != nil {
		return nil, err
	}
	type builtin struct {
		at   uint64
		name string
	}
	var all []builtin
	for ; len(symbols) >= elf.Sym64Size && len(all) < maxBuiltins; symbols = symbols[elf.Sym64Size:] {
		name := uint64(image.Order.Uint32(symbols))
		if name >= uint64(len(text)) || !bytes.HasPrefix(text[name:], []byte(builtinPrefix)) {
			continue
		}
		end := bytes.IndexByte(text[name:], 0)
		at, mapped := image.Offset(image.Order.Uint64(symbols[8:]))
		if mapped && end >= 0 && end <= maxBuiltinName {
			all = append(all, builtin{at, string(text[name+uint64(len(builtinPrefix)):][:end-len(builtinPrefix)])})
		}
	}
	sort.Slice(all, func(i, j int) bool { return all[i].at < all[j].at })
	b := &builtins{}
	for _, one := range all {
		b.begins, b.names = append(b.begins, one.at), append(b.names, one.name)
		b.end = one.at + maxBuiltinSize
	}
	return b, nil
}

// begin returns the file offset of the start of the builtin at offset, and false if there is
// none.
func (b *builtins) begin(offset uint64) (uint64, bool) {
	if b.at(offset) == "" {
		return 0, false
	}
	return b.begins[sort.Search(len(b.begins), func(i int) bool { return b.begins[i] > offset })-1], true
}

// at returns the name of the builtin at a file offset, or "" if there is none.
func (b *builtins) at(offset uint64) string {
	i := sort.Search(len(b.begins), func(i int) bool { return b.begins[i] > offset })
	if i == 0 || offset >= b.end {
		return ""
	}
	return b.names[i-1]
}
