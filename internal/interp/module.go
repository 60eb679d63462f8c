package interp

import (
	"bytes"
	"cmp"
	"debug/elf"
	"slices"

	"github.com/ringtap/ringtap/callchain"
	"github.com/ringtap/ringtap/internal/elfimage"
	"github.com/ringtap/ringtap/internal/process"
)

// Module is an ELF file that a process has mapped.
type Module struct {
	Path  string
	Image *elfimage.Image
	Bias  uint64 // what the loader added to the file's addresses

	space callchain.AddressSpace
	start uint64 // of its code
}

// Object is what frames in the module's code have as their Object. Asking makes the
// caller's model of the process prepare for such frames, so that it is for modules that
// hold a runtime.
func (m *Module) Object() callchain.ObjectID {
	if m.space == nil {
		return 0
	}
	mapping, _ := m.space.Find(m.start)
	return mapping.Object
}

// open opens a mapped file. What is no ELF file, or can't be read, is nil without an
// error: any file may be mapped.
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

// maxPage is the largest page of the machines that are known: mappings begin up to so
// many bytes before the segment that they are of.
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

// Symbol is a variable or function that a module exports.
type Symbol struct {
	Addr uint64 // in the process
	Size uint64 // bytes
}

// Symbol looks a name up as the dynamic linker does, by DT_GNU_HASH, so that little of
// the file is read. A module with the old hash table alone exports nothing.
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

// maxChain bounds how many symbols of one bucket are looked at.
const maxChain = 1 << 12

// symbol reads a symbol, if it is defined and has that name.
func (m *Module) symbol(at, text uint64, name string) (Symbol, bool) {
	b, err := m.Image.BytesAt(at, elf.Sym64Size)
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

// Span is code of a file, by offsets as frames have them.
type Span struct {
	Object     callchain.ObjectID
	Start, End uint64
}

// Has tells whether a frame is in the code.
func (s Span) Has(f callchain.Frame) bool {
	return f.Object == s.Object && s.Start <= f.Offset && f.Offset < s.End
}

// Spans are code of one file, sorted, none in another.
type Spans []Span

// Has tells whether a frame is in one of them.
func (s Spans) Has(f callchain.Frame) bool {
	i, found := slices.BinarySearchFunc(s, f.Offset, func(s Span, offset uint64) int { return cmp.Compare(s.Start, offset) })
	return found && s[i].Has(f) || i > 0 && s[i-1].Has(f)
}

// Span is where the code of a function is; nowhere if it has none in the file.
func (m *Module) Span(s Symbol) Span {
	offset, ok := m.Image.Offset(s.Addr - m.Bias)
	if !ok {
		return Span{}
	}
	return Span{m.Object(), offset, offset + s.Size}
}

// gnuHash is the hash of a name in DT_GNU_HASH.
func gnuHash(name string) uint32 {
	h := uint32(5381)
	for i := range len(name) {
		h = h*33 + uint32(name[i])
	}
	return h
}
