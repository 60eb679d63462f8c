package library

import (
	"debug/elf"
	"strings"
)

// likeness is how well a file's name matches the typed name.
type likeness int

const (
	unlike likeness = iota
	toTheDot
	toTheEnding
	exact
)

// likenesses are the likenesses to try, in order.
var likenesses = [...]likeness{exact, toTheEnding, toTheDot}

// compare compares a file's name with a typed name. A typed "libssl.so" also means any version,
// if there is no file with exactly that name.
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

// cutEnding returns the part before ".so" or ".so.…".
func cutEnding(name string) (stem string, ok bool) {
	if i := strings.Index(name, ".so."); i > 0 {
		return name[:i], true
	}
	stem, ok = strings.CutSuffix(name, ".so")
	return stem, ok && stem != ""
}

// maxSoname bounds a soname, in bytes.
const maxSoname = 256

// soname returns a library's name for itself (DT_SONAME), or "".
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

// suits reports whether a file is code for the view's machine. Like ld.so it also rejects the
// wrong class: x32 libraries are for x86-64 too.
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
