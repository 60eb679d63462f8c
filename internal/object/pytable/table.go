package pytable

import (
	"debug/elf"
	"errors"

	"github.com/ringtap/ringtap/internal/object/elfimage"
)

// Limits for untrusted files. CPython 3.11 has 7 MB and 4,000 names.
const (
	maxFile  = 64 << 20 // bytes in memory
	maxWork  = 4 << 20  // bytes of names plus table entries that are examined
	maxFacts = 1 << 17
	maxText  = 128     // bytes of a name
	maxTable = 1 << 12 // entries of a table
	maxBases = 16      // depth of inheritance
)

var errTooMany = errors.New("more tables than any real file has")

// Type is the place of CPython's PyType_Type, the type of types, in a file.
type Type struct {
	Addr uint64 // virtual address; 0 if the file only uses it
	Size uint64 // bytes
}

// Functions returns the names of the functions in a file's tables, by virtual address. Call it
// only for CPython 3 itself or an extension module.
func Functions(m *elfimage.Image, typ Type) (map[uint64]string, error) {
	if !m.Is64 || m.Machine != elf.EM_X86_64 && m.Machine != elf.EM_AARCH64 {
		return nil, nil
	}
	file, err := m.Loaded(maxFile)
	if err != nil {
		return nil, err
	}
	r := &reader{
		file: file, image: m, typ: typ,
		suites: suites(), slots: slotFields(),
		bases: map[uint64]uint64{}, work: maxWork,
	}
	file.Data(func(addr uint64) bool {
		r.object(addr)
		r.spec(addr)
		r.slotdefs(addr)
		return !r.exhausted()
	})
	if r.exhausted() {
		return nil, errTooMany
	}
	return r.names(), nil
}

// reader collects the facts in a file's tables.
type reader struct {
	file  *elfimage.Loaded
	image *elfimage.Image
	typ   Type

	suites []suite
	slots  []string

	facts []fact
	bases map[uint64]uint64 // tp_base of types in the data
	work  int               // left of maxWork
}

func (r *reader) exhausted() bool { return r.work < 0 || len(r.facts) > maxFacts }

// fact is what one table says about a function.
type fact struct {
	addr   uint64
	owner  string
	field  string
	typ    uint64 // the owner's type object, if it is in the data
	method bool
}

func (f *fact) String() string { return f.owner + "." + f.field }

// add adds a fact, unless its address is 0.
func (r *reader) add(f fact) {
	if f.addr != 0 && f.field != unused && len(r.facts) <= maxFacts {
		r.facts = append(r.facts, f)
	}
}

// isFunction reports whether a word may be a pointer to a function: in the file's code, or
// zero, which may be a null pointer or another file's function.
func (r *reader) isFunction(word uint64) bool { return word == 0 || r.image.Executable(word) }

// isData reports whether a word may be a pointer to data. Some linkers put data next to code.
func (r *reader) isData(word uint64) bool { return word == 0 || r.file.Holds(word) }

// isSmall reports whether a word may be the size of an object, or an offset in one.
func isSmall(word uint64) bool { return int64(word) >= -1<<16 && int64(word) <= 1<<16 }

// name reads a Python name: letters, digits and the characters that CPython uses in type names.
func (r *reader) name(addr uint64) (string, bool) {
	text, ok := r.file.Text(addr, maxText)
	if r.work -= 1 + len(text); !ok || len(text) == 0 || r.exhausted() {
		return "", false
	}
	for i, c := range text {
		letter := c == '_' || c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z'
		if !letter && (i == 0 || c != '.' && c != '-' && c != ' ' && (c < '0' || c > '9')) {
			return "", false
		}
	}
	return string(text), true
}
