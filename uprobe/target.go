package uprobe

import (
	"debug/elf"
	"errors"
	"fmt"

	"github.com/ringtap/ringtap/internal/arch"
	"github.com/ringtap/ringtap/internal/host/openfile"
	"github.com/ringtap/ringtap/internal/host/proc"
	"github.com/ringtap/ringtap/internal/object/elfimage"
	"github.com/ringtap/ringtap/internal/object/gotable"
	"github.com/ringtap/ringtap/internal/probe/library"
	"github.com/ringtap/ringtap/symbols"
)

type target struct {
	*library.Target
	image   *elfimage.Image
	symbols *symbols.File
	goTable *gotable.Table // nil if it is not a Go program
	debug   bool           // a separate debug file was opened
}

// openTarget finds a target and checks that it has code to probe.
func openTarget(name string, pid int) (*target, error) {
	found, err := library.Find(name, library.Options{PID: pid})
	if err != nil {
		return nil, err
	}
	t := &target{Target: found}
	if err := t.open(pid); err != nil {
		found.File.Close()
		return nil, &TargetError{Path: found.Path, Err: err}
	}
	return t, nil
}

func (t *target) open(pid int) error {
	info, err := t.File.Stat()
	if err != nil {
		return err
	}
	if !info.Mode().IsRegular() {
		return openfile.ErrNotRegular
	}
	size := info.Size()
	if t.image, err = elfimage.New(t.File, size); err != nil {
		return notELF(err)
	}
	if err := checkCode(t.image); err != nil {
		return err
	}
	t.symbols, err = symbols.Open(t.File, size, symbols.Options{Path: t.Path, Open: t.debugFiles(pid)})
	if err != nil {
		return err
	}
	t.goTable, err = gotable.Open(t.image)
	if err != nil {
		t.goTable = nil // not Go, or an unreadable table
	}
	return nil
}

// notELF distinguishes a file that is not ELF from one with truncated headers.
func notELF(err error) error {
	if errors.Is(err, ErrNotELF) {
		return err
	}
	return fmt.Errorf("%w: %w", ErrTruncated, err)
}

// isCompat reports whether a file is for 32-bit programs that this machine can also run.
func isCompat(m *elfimage.Image) bool { return arch.Here == arch.AMD64 && m.Machine == elf.EM_386 }

func (t *target) compat() bool { return isCompat(t.image) }

// checkCode returns an error if this machine cannot run code of the file.
func checkCode(m *elfimage.Image) error {
	if m.Machine != arch.Here.ELF && !isCompat(m) {
		return fmt.Errorf("%w: it is for %v, this machine runs %v", ErrMachine, m.Machine, arch.Here.ELF)
	}
	code := false
	for _, s := range m.Segments {
		if s.Type != elf.PT_LOAD || s.Filesz == 0 { // only zeros, which may be at any address
			continue
		}
		if s.Off+s.Filesz > uint64(m.Size) {
			return fmt.Errorf("%w: the program goes to byte %d, the file to %d", ErrTruncated, s.Off+s.Filesz, m.Size)
		}
		code = code || s.Flags&elf.PF_X != 0
	}
	if !code {
		return ErrNoCode
	}
	return nil
}

// debugFiles returns a function that opens separate debug files in the view of process pid, or
// in ours if pid is 0.
func (t *target) debugFiles(pid int) func(path string) (symbols.ReaderAtCloser, int64, error) {
	root := ""
	if pid != 0 {
		root = proc.Live.Path(pid, "root")
	}
	open := symbols.DebugFiles(root)
	return func(path string) (symbols.ReaderAtCloser, int64, error) {
		file, size, err := open(path)
		t.debug = t.debug || err == nil
		return file, size, err
	}
}

// isGo reports whether the function at a file offset is Go code.
func (t *target) isGo(offset uint64) bool {
	if t.goTable == nil {
		return false
	}
	vaddr, ok := t.image.Vaddr(offset)
	if !ok {
		return false
	}
	_, ok = t.goTable.Find(vaddr)
	return ok
}

// stripped reports whether the file has no names of its own functions, only of those it
// exports.
func (t *target) stripped() bool {
	_, symtab := t.image.SectionOf(elf.SHT_SYMTAB)
	_, mini := t.image.Section(".gnu_debugdata")
	return !symtab && !mini && !t.debug && t.goTable == nil
}

func (t *target) close() error {
	return errors.Join(t.symbols.Close(), t.File.Close())
}
