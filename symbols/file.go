package symbols

import (
	"debug/elf"
	"errors"
	"fmt"
	"io"
	"sync"
	"sync/atomic"

	"github.com/ringtap/ringtap/internal/object/elfimage"
	"github.com/ringtap/ringtap/internal/object/gotable"
)

// ErrNotELF is wrapped by Open's error if the file does not start like an ELF file.
var ErrNotELF = elfimage.ErrNotELF

// File is one ELF file. Open reads only its headers. Symbol tables are read at the first
// Lookup, and debug information at the first call of Lines or another method that needs it. All
// methods may be called by several goroutines at the same time.
type File struct {
	image *elfimage.Image
	opts  Options

	symbolsOnce sync.Once
	symbols     *table
	symbolsErr  error

	preparing sync.Mutex
	calls     int // calls of Prepare so far
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

// Open reads the headers of an ELF file: an executable, a shared library, a separate debug
// file, or a copy of the vdso (in a bytes.Reader). size is the file's size in bytes. r must
// stay readable as long as the File is used. If the file is not ELF, the error wraps ErrNotELF.
// It is also an error if the program headers cannot be read.
func Open(r io.ReaderAt, size int64, opts Options) (*File, error) {
	m, err := elfimage.New(r, size)
	if err != nil {
		return nil, fmt.Errorf("open ELF file: %w", err)
	}
	return &File{image: m, opts: opts}, nil
}

// Lookup returns the function that contains the byte at fileOffset. For an address in a
// process, that is address − start of the mapping + the mapping's offset, as in
// callchain.Frame. It allocates nothing. The first call reads the tables. Tables that cannot be
// read are left out; Load returns the reason.
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
	// Within a segment, offsets grow as addresses do. A crafted symbol may start before the
	// file does; it has no offset.
	into := addr - t.entries[i].addr
	if into > fileOffset {
		return Symbol{}, false
	}
	return Symbol{Name: t.name(i), Start: fileOffset - into, Size: uint64(t.entries[i].size), Guessed: t.entries[i].name&guessed != 0}, true
}

// Load reads the symbol tables, unless a Lookup has already done so. It returns the joined
// errors of tables that could not be read. Lookup works with the other tables.
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

// collect reads the tables that add names. The .symtab of the file, or of its debug file, has
// everything. Without either, it reads .dynsym, MiniDebugInfo and Go's function table. Stubs
// are in no table, so they are always added.
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

// debugImage opens the separate debug file once. It returns nil if there is none.
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
