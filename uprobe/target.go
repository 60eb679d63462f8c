package uprobe

import (
	"debug/elf"
	"errors"
	"fmt"

	"github.com/ringtap/ringtap/internal/elfimage"
	"github.com/ringtap/ringtap/internal/gotable"
	"github.com/ringtap/ringtap/internal/library"
	"github.com/ringtap/ringtap/internal/openfile"
	"github.com/ringtap/ringtap/internal/proc"
	"github.com/ringtap/ringtap/symbols"
)

// target is the file that is probed.
type target struct {
	*library.Target
	image   *elfimage.Image
	symbols *symbols.File
	goTable *gotable.Table // nil if it is no Go program
	debug   bool           // a separate debug file was opened
}

// openTarget finds a target and looks whether there is code in it to probe.
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
		t.goTable = nil // not Go, or a table that tells nothing
	}
	return nil
}

// notELF tells a file that is no ELF file from one whose headers are not whole.
func notELF(err error) error {
	if errors.Is(err, ErrNotELF) {
		return err
	}
	return fmt.Errorf("%w: %w", ErrTruncated, err)
}

// isCompat tells whether a file is for 32-bit programs that this machine runs, too.
func isCompat(m *elfimage.Image) bool { return machine == elf.EM_X86_64 && m.Machine == elf.EM_386 }

func (t *target) compat() bool { return isCompat(t.image) }

// checkCode refuses an ELF file that nothing runs from here.
func checkCode(m *elfimage.Image) error {
	if m.Machine != machine && !isCompat(m) {
		return fmt.Errorf("%w: it is for %v, this machine runs %v", ErrMachine, m.Machine, machine)
	}
	code := false
	for _, s := range m.Segments {
		if s.Type != elf.PT_LOAD || s.Filesz == 0 { // zeros alone, which may lie anywhere
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

// debugFiles opens separate debug files as a process sees them, or as we do.
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

// isGo tells whether the function at a file offset is Go's own code.
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

// stripped tells whether nothing has the names of the file's own functions,
// only of those that it exports.
func (t *target) stripped() bool {
	_, symtab := t.image.SectionOf(elf.SHT_SYMTAB)
	_, mini := t.image.Section(".gnu_debugdata")
	return !symtab && !mini && !t.debug && t.goTable == nil
}

func (t *target) close() error {
	return errors.Join(t.symbols.Close(), t.File.Close())
}
