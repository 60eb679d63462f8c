package library

import (
	"debug/elf"
	"strings"
)

// likeness is how well the name of a file answers the one that was typed.
type likeness int

const (
	unlike likeness = iota
	toTheDot
	toTheEnding
	exact
)

// likenesses are those that are looked for, one after the other.
var likenesses = [...]likeness{exact, toTheEnding, toTheDot}

// compare compares the name of a file with one that was typed. "libssl.so" is
// typed for any version as well, where there is no file of that name.
func compare(name, typed string) likeness {
	if name == typed {
		return exact
	}
	typed = strings.TrimSuffix(typed, ".so")
	if stem, ok := cutEnding(name); ok && stem == typed {
		return toTheEnding
	}
	if stem, _, ok := strings.Cut(name, "."); ok && stem == typed {
		return toTheDot
	}
	return unlike
}

// cutEnding returns what is before ".so" or ".so.…".
func cutEnding(name string) (stem string, ok bool) {
	if i := strings.Index(name, ".so."); i > 0 {
		return name[:i], true
	}
	stem, ok = strings.CutSuffix(name, ".so")
	return stem, ok && stem != ""
}

// maxSoname bounds what is read of a file's own name.
const maxSoname = 256

// soname returns the name that a library has for itself (DT_SONAME), "" if none.
func (f *found) soname() string {
	img, err := f.image()
	if err != nil {
		return ""
	}
	tags := img.Dynamic()
	at, size := tags[elf.DT_SONAME], tags[elf.DT_STRSZ]
	if at == 0 || at >= size {
		return ""
	}
	b, err := img.BytesAt(tags[elf.DT_STRTAB]+at, min(size-at, maxSoname))
	if err != nil {
		return ""
	}
	name, _, ok := strings.Cut(string(b), "\x00")
	if !ok {
		return ""
	}
	return name
}

// suits tells whether a file is code for the machine of the view. ld.so refuses
// another class as it does another machine: x32's libraries are for x86-64 too.
func (v *view) suits(f *found) bool {
	img, err := f.image()
	if err != nil || img.Machine != v.machine {
		return false
	}
	switch v.machine {
	case elf.EM_X86_64, elf.EM_AARCH64:
		return img.Is64
	}
	return true
}
