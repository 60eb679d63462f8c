package uprobe

import (
	"debug/elf"
	"errors"
	"fmt"
	"path/filepath"
	"sort"
	"strings"

	"github.com/ringtap/ringtap/ftrace"
	"github.com/ringtap/ringtap/symbols"
	"github.com/ringtap/ringtap/uprobe/placement"
)

// maxDecode is the maximum distance, in bytes, between a known start of code and an offset that
// is checked by decoding the instructions before it.
const maxDecode = 1 << 20

var (
	errNotExecuted = errors.New("no code is there")
	errNoStart     = errors.New("no function is known before it, so ringtap cannot tell whether an instruction begins there: take the offset from a disassembler and use --exact")
	errNotStart    = errors.New("a return probe is on a function's first instruction, and no function begins here")
)

// FileOffset returns the file offset of the code at one of a target's addresses. Errors are as
// for Resolve.
func FileOffset(name string, o Options, addr uint64) (uint64, error) {
	t, err := openTarget(name, o.PID)
	if err != nil {
		return 0, err
	}
	defer t.close()
	offset, ok := t.image.Offset(addr)
	if !ok || !t.image.Executable(addr) {
		return 0, &TargetError{Path: t.Path, Err: fmt.Errorf("no code is at its address %#x", addr)}
	}
	return offset, nil
}

// offset resolves 0xADDR, a file offset. The probe is never moved.
func (r *resolver) offset() error {
	d := r.definition
	if err := r.executable(d.Address); err != nil {
		return &PlaceError{Path: r.Path, Offset: d.Address, Err: err}
	}
	segment, _, _ := strings.Cut(filepath.Base(r.Path), ".")
	event := ftrace.EventIdentifier(fmt.Sprintf("%s_%#x", segment, d.Address))
	fn, known := r.holding(d.Address)
	if d.Kind == Return {
		if known && fn.Offset == d.Address {
			return r.returns(&fn, event)
		}
		if known || !r.options.Exact {
			return &PlaceError{Path: r.Path, Offset: d.Address, Err: errNotStart}
		}
	}
	site := Site{Offset: d.Address, Return: d.Kind == Return, Symbol: fn.Name, Event: event}
	if known {
		code, err := r.code(fn.Offset, fn.Size)
		if err != nil {
			return err
		}
		into := d.Address - fn.Offset
		if err := probeable(code, into); err != nil {
			return &PlaceError{Path: r.Path, Offset: d.Address, Err: fmt.Errorf("in %s: %w", symbols.Demangle(fn.Name), err)}
		}
		skip, _ := code.Entry()
		site.Entry = into <= uint64(skip)
	} else if err := r.boundary(d.Address); err != nil && !r.options.Exact {
		return &PlaceError{Path: r.Path, Offset: d.Address, Err: err}
	}
	var err error
	function := d.Address
	if known {
		function = fn.Offset
	}
	if site.Args, err = r.args(function, d.Address, site.Entry); err != nil {
		return err
	}
	r.add(site)
	return nil
}

// executable returns nil if the byte at a file offset is code. Its error suggests what may have
// been meant.
func (r *resolver) executable(offset uint64) error {
	if vaddr, ok := r.image.Vaddr(offset); ok && r.image.Executable(vaddr) {
		return nil
	}
	if real, ok := r.image.Offset(offset); ok && r.image.Executable(offset) {
		return fmt.Errorf("%w, but at this address of the program there is, which is file offset %#x", errNotExecuted, real)
	}
	var ranges []string
	for _, s := range r.image.Segments {
		if s.Type == elf.PT_LOAD && s.Flags&elf.PF_X != 0 {
			ranges = append(ranges, fmt.Sprintf("%#x to %#x", s.Off, s.Off+s.Filesz))
		}
	}
	return fmt.Errorf("%w; the file's code is at offsets %s", errNotExecuted, several(ranges))
}

// holding returns the function that contains a file offset.
func (r *resolver) holding(offset uint64) (symbols.Function, bool) {
	s, ok := r.symbols.Lookup(offset)
	if !ok || s.Size == 0 {
		return symbols.Function{}, false
	}
	return symbols.Function{Name: s.Name, Offset: s.Start, Size: s.Size}, true
}

// boundary checks that an instruction starts at a file offset outside of known functions. It
// decodes the code from the nearest known start before it: a function or a section.
func (r *resolver) boundary(offset uint64) error {
	start, ok := r.startBefore(offset)
	if !ok || offset-start > maxDecode {
		return errNoStart
	}
	code, err := r.code(start, r.upTo(offset+16)-start)
	if err != nil {
		return err
	}
	if err := probeable(code, offset-start); err != nil {
		if notCode := (*placement.NotCodeError)(nil); errors.As(err, &notCode) {
			return errNoStart
		}
		return fmt.Errorf("counted from %#x, %w", start, err)
	}
	return nil
}

// upTo returns end, or the end of the file if that comes first.
func (r *resolver) upTo(end uint64) uint64 { return min(end, uint64(r.image.Size)) }

// startBefore returns the last known start of code at or before a file offset, in the same
// section.
func (r *resolver) startBefore(offset uint64) (start uint64, ok bool) {
	for _, s := range r.image.Sections {
		if s.Flags&elf.SHF_EXECINSTR != 0 && s.Type != elf.SHT_NOBITS && s.Offset <= offset && offset-s.Offset < s.Size {
			start, ok = s.Offset, true
		}
	}
	if !ok {
		return 0, false // without sections, there may be data between the code
	}
	functions, _ := r.symbols.Functions()
	i := sort.Search(len(functions), func(i int) bool { return functions[i].Offset > offset })
	if i > 0 && functions[i-1].Kind != symbols.Imported {
		start = max(start, functions[i-1].Offset)
	}
	return start, true
}
