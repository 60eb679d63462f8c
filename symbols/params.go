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

// Type is a type and all types that it refers to; see dwarfparam.Type.
type Type = dwarfparam.Type

// ErrNoParams is wrapped by Params's error if there is no debug information about the function.
var ErrNoParams = errors.New("no debug information about the function's parameters")

// Params returns the parameters of the function that starts at offset, and their locations
// before its first instruction runs. It reads the DWARF of the file or of its separate debug
// file. If there is none, or no function starts at offset, the error wraps ErrNoParams. If the
// location of a parameter is unknown, its Location says why.
func (f *File) Params(offset uint64) ([]Param, error) { return f.params(offset, false) }

// TypedParams is like Params, but also sets the whole types: dwarfparam.Param.Of.
func (f *File) TypedParams(offset uint64) ([]Param, error) { return f.params(offset, true) }

// FindType finds a type by its name; see dwarfparam.FindType. If several compilation units
// define it, the one of the function that starts at offset is used.
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

// Result returns the type and location of the result of the function that starts at offset, by
// debug information; see dwarfparam.Result.
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

// isClone reports whether all names at offset belong to copies that an optimizer made for some
// callers.
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
