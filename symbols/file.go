package symbols

import (
	"debug/elf"
	"errors"
	"fmt"
	"io"
	"sync"
	"sync/atomic"

	"github.com/ringtap/ringtap/internal/elfimage"
	"github.com/ringtap/ringtap/internal/gotable"
)

// ErrNotELF is wrapped by the error of Open for a file that does not begin like
// an ELF file.
var ErrNotELF = elfimage.ErrNotELF

// File is one ELF file. Open reads its headers only; symbol tables are read at
// the first Lookup, and debug information at the first call of Lines.
// All methods may be called by several goroutines at once.
type File struct {
	image *elfimage.Image
	opts  Options

	symbolsOnce sync.Once
	symbols     *table
	symbolsErr  error

	preparing sync.Mutex
	calls     int // of Prepare
	prepared  atomic.Pointer[map[uint64]prepared]

	debugOnce sync.Once
	debug     *separate
	debugErr  error

	goOnce sync.Once
	goTab  *gotable.Table
	goErr  error

	lines lineSources

	functions functionList
	bounds    functionBounds
	implied   impliedNames
}

// Open reads the headers of an ELF file of the given size in bytes: an
// executable, a shared library, a separate debug file, or an image of the vdso
// in memory behind a bytes.Reader. r must stay readable for as long as the File
// is used. A file that is not ELF is an error that wraps ErrNotELF; one whose
// program headers can't be read is an error too.
func Open(r io.ReaderAt, size int64, opts Options) (*File, error) {
	m, err := elfimage.New(r, size)
	if err != nil {
		return nil, fmt.Errorf("open ELF file: %w", err)
	}
	return &File{image: m, opts: opts}, nil
}

// Lookup returns the function that holds the byte at fileOffset, the form in
// which callchain.Frame has it: address − start of the mapping + the mapping's
// offset. It allocates nothing. The first call reads the tables; what of them
// can't be read is left out, and Load says why.
func (f *File) Lookup(fileOffset uint64) (Symbol, bool) {
	if found := f.prepared.Load(); found != nil {
		if p, ok := (*found)[fileOffset]; ok {
			return p.symbol, p.ok
		}
	}
	t, _ := f.load()
	return f.lookUp(t, fileOffset)
}

func (f *File) lookUp(t *table, fileOffset uint64) (Symbol, bool) {
	addr, ok := f.image.Vaddr(fileOffset)
	if !ok {
		return Symbol{}, false
	}
	i, ok := t.lookup(addr)
	if !ok {
		return Symbol{}, false
	}
	// Within one segment offsets run as addresses do; a crafted symbol that
	// begins before the file does has no place in it.
	into := addr - t.entries[i].addr
	if into > fileOffset {
		return Symbol{}, false
	}
	return Symbol{Name: t.name(i), Start: fileOffset - into, Size: uint64(t.entries[i].size), Guessed: t.entries[i].name&guessed != 0}, true
}

// Load reads the symbol tables if no Lookup has done so, and returns the errors
// of those that could not be read, joined. Lookup works with the others.
func (f *File) Load() error {
	_, err := f.load()
	return err
}

func (f *File) load() (*table, error) {
	f.symbolsOnce.Do(func() {
		b := &builder{code: codeOf(f.image)}
		f.symbolsErr = f.collect(b)
		f.symbols = b.finish()
	})
	return f.symbols, f.symbolsErr
}

// collect reads the tables that add names: the file's own .symtab or else that
// of its debug file, which hold everything. Without either there is what the
// dynamic linker, MiniDebugInfo and Go's runtime know. Stubs are in no table.
func (f *File) collect(b *builder) error {
	m := f.image
	var errs []error
	full := false
	for _, from := range []func() (*elfimage.Image, error){f.own, f.debugImage} {
		image, err := from()
		errs = append(errs, err)
		if image == nil {
			continue
		}
		if symtab, ok := image.SectionOf(elf.SHT_SYMTAB); ok {
			err := b.addSymtab(image, symtab, nil)
			errs = append(errs, err)
			if full = err == nil && b.seen; full {
				break
			}
		}
	}
	if !full {
		errs = append(errs, b.addDynsym(m), b.addMiniDebug(m, f.opts.Unpack))
		t, err := f.goTable()
		if errs = append(errs, err); t != nil {
			errs = append(errs, b.addGoTable(t))
		}
	}
	errs = append(errs, b.addPLT(m))
	return errors.Join(errs...)
}

func (f *File) own() (*elfimage.Image, error) { return f.image, nil }

// debugImage opens the separate debug file once; nil when there is none.
func (f *File) debugImage() (*elfimage.Image, error) {
	f.debugOnce.Do(func() { f.debug, f.debugErr = openSeparate(f.image, f.opts) })
	if f.debug == nil {
		return nil, f.debugErr
	}
	return f.debug.image, f.debugErr
}

// Close closes the separate debug file, if one was opened. The reader that was
// given to Open stays open. The File must not be used afterwards.
func (f *File) Close() error {
	if f.debug == nil {
		return nil
	}
	return f.debug.file.Close()
}
