package interp

import (
	"bytes"
	"cmp"
	"debug/elf"
	"slices"

	"github.com/ringtap/ringtap/callchain"
	"github.com/ringtap/ringtap/internal/object/elfimage"
	"github.com/ringtap/ringtap/internal/process"
)

// Module is an ELF file that a process has mapped.
type Module struct {
	Path  string
	Image *elfimage.Image
	Bias  uint64 // the file's load bias: what the loader added to its addresses

	space callchain.AddressSpace
	start uint64 // start of its code

	cache *Cache // nil: none, or finds are from it
	finds finds  // nil: not kept
}

// Object returns the ObjectID of frames in the module's code. A call makes the caller's model
// of the process prepare for such frames, so call it only for modules with a runtime.
func (m *Module) Object() callchain.ObjectID {
	if m.space == nil {
		return 0
	}
	mapping, _ := m.space.Find(m.start)
	return mapping.Object
}

// open opens a mapped file. It returns nil if the file is not ELF or can't be read; that is no
// error, because any file may be mapped.
func open(space callchain.AddressSpace, m process.Mapped) *Module {
	r, size, err := m.Object.Open()
	if err != nil {
		return nil
	}
	image, err := elfimage.New(r, size)
	if err != nil || !image.Is64 {
		return nil
	}
	bias, ok := bias(image, m)
	if !ok {
		return nil
	}
	return &Module{Path: m.Object.Path, Image: image, Bias: bias, space: space, start: m.Start}
}

// maxPage is the largest page size of the supported machines. A mapping starts up to that many
// bytes before its segment.
const maxPage = 64 << 10

func bias(image *elfimage.Image, m process.Mapped) (uint64, bool) {
	for _, before := range []uint64{0, maxPage} {
		for i := range image.Segments {
			s := &image.Segments[i]
			if s.Type == elf.PT_LOAD && s.Flags&elf.PF_X != 0 && m.Offset+before >= s.Off && m.Offset < s.Off+s.Filesz {
				return m.Start - (m.Offset - s.Off + s.Vaddr), true
			}
		}
	}
	return 0, false
}

// Symbol is a variable or function exported by a module.
type Symbol struct {
	Addr uint64 // in the process
	Size uint64 // in bytes
}

// Symbol looks a name up like the dynamic linker, in DT_GNU_HASH, and so reads little of the
// file. A module that has only the old hash table exports nothing.
func (m *Module) Symbol(name string) (Symbol, bool) {
	tags := m.Image.Dynamic()
	table, symbols, text := tags[elf.DT_GNU_HASH], tags[elf.DT_SYMTAB], tags[elf.DT_STRTAB]
	if table == 0 || symbols == 0 || text == 0 {
		return Symbol{}, false
	}
	head, err := m.Image.BytesAt(table, 16)
	if err != nil {
		return Symbol{}, false
	}
	order := m.Image.Order
	buckets, first := uint64(order.Uint32(head)), uint64(order.Uint32(head[4:]))
	if buckets == 0 {
		return Symbol{}, false
	}
	at := table + 16 + uint64(order.Uint32(head[8:]))*8
	hash := gnuHash(name)
	b, err := m.Image.BytesAt(at+uint64(hash)%buckets*4, 4)
	if err != nil {
		return Symbol{}, false
	}
	chains := at + buckets*4
	for i, n := uint64(order.Uint32(b)), 0; i >= first && n < maxChain; i, n = i+1, n+1 {
		b, err := m.Image.BytesAt(chains+(i-first)*4, 4)
		if err != nil {
			return Symbol{}, false
		}
		h := order.Uint32(b)
		if h|1 == hash|1 {
			if s, ok := m.symbol(symbols+i*elf.Sym64Size, text, name); ok {
				return s, true
			}
		}
		if h&1 != 0 {
			break
		}
	}
	return Symbol{}, false
}

// maxChain bounds how many symbols of one bucket are tried.
const maxChain = 1 << 12

// symbol reads the symbol at addr. It returns false if the symbol is undefined or has another
// name.
func (m *Module) symbol(addr, text uint64, name string) (Symbol, bool) {
	b, err := m.Image.BytesAt(addr, elf.Sym64Size)
	if err != nil {
		return Symbol{}, false
	}
	order := m.Image.Order
	if elf.SectionIndex(order.Uint16(b[6:])) == elf.SHN_UNDEF {
		return Symbol{}, false
	}
	has, err := m.Image.BytesAt(text+uint64(order.Uint32(b)), uint64(len(name)+1))
	if err != nil || !bytes.Equal(has[:len(name)], []byte(name)) || has[len(name)] != 0 {
		return Symbol{}, false
	}
	return Symbol{Addr: order.Uint64(b[8:]) + m.Bias, Size: order.Uint64(b[16:])}, true
}

// Span is a range of code in a file, by file offsets as in Frame.
type Span struct {
	object     callchain.ObjectID
	Start, End uint64
}

// Has reports whether f is in the range.
func (s Span) Has(f callchain.Frame) bool {
	return f.Object == s.object && s.Start <= f.Offset && f.Offset < s.End
}

// Spans are ranges of one file, sorted and not nested.
type Spans []Span

// Has reports whether f is in one of the ranges.
func (s Spans) Has(f callchain.Frame) bool {
	i, found := slices.BinarySearchFunc(s, f.Offset, func(s Span, offset uint64) int { return cmp.Compare(s.Start, offset) })
	return found && s[i].Has(f) || i > 0 && s[i-1].Has(f)
}

// Span returns the range of a function's code. It is empty if the file has no code there.
func (m *Module) Span(s Symbol) Span {
	offset, ok := m.Image.Offset(s.Addr - m.Bias)
	if !ok {
		return Span{}
	}
	return Span{m.Object(), offset, offset + s.Size}
}

// gnuHash returns a name's hash in DT_GNU_HASH.
func gnuHash(name string) uint32 {
	h := uint32(5381)
	for i := range len(name) {
		h = h*33 + uint32(name[i])
	}
	return h
}
