package symbols

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/ringtap/ringtap/symbols/dwarfparam"
)

// Param is a parameter of a function; see dwarfparam.Param.
type Param = dwarfparam.Param

// Type is a type with all that it leads to; see dwarfparam.Type.
type Type = dwarfparam.Type

// ErrNoParams is wrapped by the error of Params when there is no debug
// information about the function.
var ErrNoParams = errors.New("no debug information about the function's parameters")

// Params returns the parameters of the function that begins at offset, and where
// they are before its first instruction runs. They come from DWARF, of the file or
// of its separate debug file; without any, or for a place where no function
// begins, the error wraps ErrNoParams. What is not known of a parameter is told in
// its Location.
func (f *File) Params(offset uint64) ([]Param, error) { return f.params(offset, false) }

// TypedParams returns the same with whole types: dwarfparam.Param.Of.
func (f *File) TypedParams(offset uint64) ([]Param, error) { return f.params(offset, true) }

// FindType finds a type by its name; see dwarfparam.FindType. One that several parts of a program have is
// taken from that of the function that begins at offset.
func (f *File) FindType(offset uint64, name string) (*Type, bool) {
	s := &f.lines
	s.once.Do(func() { s.open(f) })
	if s.dwarf == nil {
		return nil, false
	}
	addr, _ := f.image.Vaddr(offset)
	s.mu.Lock()
	defer s.mu.Unlock()
	return dwarfparam.FindType(s.dwarf, addr, name, dwarfparam.Options{Machine: f.image.Machine})
}

func (f *File) params(offset uint64, types bool) ([]Param, error) {
	s := &f.lines
	s.once.Do(func() { s.open(f) })
	addr, ok := f.image.Vaddr(offset)
	if s.dwarf == nil || !ok {
		return nil, errors.Join(ErrNoParams, s.err)
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	params, err := dwarfparam.Read(s.dwarf, addr, dwarfparam.Options{Machine: f.image.Machine, Clone: f.isClone(offset), Types: types})
	if err != nil {
		return nil, fmt.Errorf("%w: %w", ErrNoParams, err)
	}
	return params, nil
}

// Result returns what the function that begins at offset returns, by debug information; see
// dwarfparam.Result.
func (f *File) Result(offset uint64) (Param, bool) {
	s := &f.lines
	s.once.Do(func() { s.open(f) })
	addr, ok := f.image.Vaddr(offset)
	if s.dwarf == nil || !ok {
		return Param{}, false
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	return dwarfparam.Result(s.dwarf, addr, dwarfparam.Options{Machine: f.image.Machine})
}

// isClone reports whether all names of a place are those of copies that an
// optimizer made for some callers.
func (f *File) isClone(offset uint64) bool {
	all, _ := f.Functions()
	i, _ := slices.BinarySearchFunc(all, offset, func(x Function, offset uint64) int {
		switch {
		case x.Kind == Imported || x.Offset < offset:
			return -1
		case x.Offset > offset:
			return 1
		}
		return 0
	})
	clone := false
	for ; i < len(all) && all[i].Offset == offset; i++ {
		name := all[i].Name
		clone = strings.Contains(name, ".isra.") || strings.Contains(name, ".constprop.") || strings.Contains(name, ".part.")
		if !clone {
			return false
		}
	}
	return clone
}
