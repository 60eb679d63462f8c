package goroutine

import (
	"bytes"
	"debug/elf"
	"encoding/binary"
	"errors"

	"github.com/ringtap/ringtap/callchain"
	"github.com/ringtap/ringtap/internal/object/elfimage"
	"github.com/ringtap/ringtap/internal/object/gotable"
	"github.com/ringtap/ringtap/internal/process"
)

// program is an ELF file with a Go runtime, mapped by a process.
type program struct {
	path    string
	image   *elfimage.Image
	bias    uint64 // load bias: what the loader added to the file's addresses
	version string // "" if the file does not say
}

// openProgram opens a mapped file that is a Go program. It returns nil if it is not one or
// can't be read. That is no error, because any file may be mapped.
func openProgram(m process.Mapped) *program {
	r, size, err := m.Object.Open()
	if err != nil {
		return nil
	}
	image, err := elfimage.New(r, size)
	if err != nil {
		return nil
	}
	p := &program{path: m.Object.Path, image: image}
	version, found := buildInfo(image)
	if !found && !gotable.IsGo(image) {
		return nil
	}
	p.version = version
	var ok bool
	p.bias, ok = bias(image, m)
	if !ok {
		return nil
	}
	return p
}

// maxPage is the largest page size of the supported machines. A mapping starts up to that many
// bytes before its segment.
const maxPage = 64 << 10

// bias returns the difference between addresses in the process and in the file.
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

// supported returns why the program's machine is not supported, or "".
func (p *program) supported(arch callchain.Arch) string {
	machine := map[elf.Machine]callchain.Arch{elf.EM_X86_64: callchain.AMD64, elf.EM_AARCH64: callchain.ARM64}[p.image.Machine]
	switch {
	case !p.image.Is64 || p.image.Order != binary.LittleEndian:
		return "only 64-bit little-endian programs can be read"
	case machine == 0 || machine != arch:
		return "it is not for this machine's kind of processor"
	}
	return ""
}

// The runtime's symbols that ringtap looks for.
const (
	allgs        = "runtime.allgs"
	allgadd      = "runtime.allgadd"
	reasonsTable = "runtime.waitReasonStrings"
	buildVersion = "runtime.buildVersion"
	semtable     = "runtime.semtable"

	memBuckets     = "runtime.mbuckets"
	memProfileRate = "runtime.MemProfileRate"
)

// symbol is the address and size of a symbol in the file.
type symbol struct{ addr, size uint64 }

// symbols returns the runtime's symbols. It returns none if the program has no symbol table.
func (p *program) symbols() map[string]symbol {
	found := make(map[string]symbol)
	s, ok := p.image.SectionOf(elf.SHT_SYMTAB)
	if !ok || s.Link >= uint32(len(p.image.Sections)) {
		return found
	}
	table, err := p.image.Bytes(s)
	if err != nil {
		return found
	}
	text, err := p.image.Bytes(&p.image.Sections[s.Link])
	if err != nil {
		return found
	}
	for ; len(table) >= elf.Sym64Size; table = table[elf.Sym64Size:] {
		at := binary.LittleEndian.Uint32(table)
		if uint64(at) >= uint64(len(text)) || !bytes.HasPrefix(text[at:], []byte("runtime.")) {
			continue
		}
		for _, name := range []string{allgs, allgadd, reasonsTable, buildVersion, semtable, memBuckets, memProfileRate} {
			if rest, ok := bytes.CutPrefix(text[at:], []byte(name)); ok && len(rest) > 0 && rest[0] == 0 {
				found[name] = symbol{binary.LittleEndian.Uint64(table[8:]), binary.LittleEndian.Uint64(table[16:])}
			}
		}
	}
	return found
}

// functions opens the function table. The error says why it can't be used.
func (p *program) functions() (*gotable.Table, error) {
	t, err := gotable.Open(p.image)
	if err != nil {
		return nil, err
	}
	if t.Version != gotable.Go118 && t.Version != gotable.Go120 {
		return nil, errors.New("it was built by a Go before 1.18")
	}
	return t, nil
}
