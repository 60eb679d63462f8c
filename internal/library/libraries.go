package library

import (
	"cmp"
	"debug/elf"
	"io"
	"slices"
)

// maxCache is how many bytes of an ld.so.cache are read. A large host has a
// tenth of a megabyte.
const maxCache = 16 << 20

// findLibrary returns the library of a name, nil if there is none.
func (v *view) findLibrary(name string) (*found, error) {
	cached := v.cache()
	for _, like := range likenesses {
		f, err := choose(name, v.openCached(cached, name, like))
		if f != nil || err != nil {
			return f, err
		}
	}
	return v.findInDirs(name)
}

// cache returns the entries of the view's ld.so.cache that the wanted machine's
// loader would take, none if it can't be read: systems with musl have none.
func (v *view) cache() []CacheEntry {
	f, err := v.open("/etc/ld.so.cache")
	if err != nil {
		return nil
	}
	defer f.close()
	b, err := io.ReadAll(io.LimitReader(f.file, maxCache))
	if err != nil {
		return nil
	}
	entries, err := ReadCache(b)
	if err != nil {
		return nil
	}
	return slices.DeleteFunc(entries, func(e CacheEntry) bool { return !loads(v.machine, e.Flags) })
}

// The kinds of a cache entry that the 64-bit loaders accept: ELF for the C
// library of glibc 2, and the ABI (_DL_CACHE_DEFAULT_ID in glibc's sysdeps).
const (
	cachedX8664   = 0x0303
	cachedAArch64 = 0x0a03
)

// loads tells whether the loader of a machine takes entries with these flags.
// For other machines the ELF header alone decides.
func loads(machine elf.Machine, flags uint32) bool {
	switch machine {
	case elf.EM_X86_64:
		return flags == cachedX8664
	case elf.EM_AARCH64:
		return flags == cachedAArch64
	}
	return true
}

// openCached opens, for each soname that answers a name that well, the file that
// ld.so would take.
func (v *view) openCached(entries []CacheEntry, name string, like likeness) []named {
	bySoname := map[string][]CacheEntry{}
	var sonames []string
	for _, e := range entries {
		if compare(e.Soname, name) != like {
			continue
		}
		if bySoname[e.Soname] == nil {
			sonames = append(sonames, e.Soname)
		}
		bySoname[e.Soname] = append(bySoname[e.Soname], e)
	}
	var files []named
	for _, soname := range sonames {
		if f := v.openFirst(v.inOrder(bySoname[soname])); f != nil {
			files = append(files, named{f, soname})
		}
	}
	return files
}

// inOrder sorts the entries for one soname as ld.so prefers them: the highest
// processor level that this processor has, then the plain one, each in the
// cache's order. Those that need features by the masks of old glibc come last,
// for they are for a machine that we don't know.
func (v *view) inOrder(entries []CacheEntry) []CacheEntry {
	levels := levelsOf(v.machine)
	plain := len(levels)
	rank := func(e CacheEntry) int {
		switch {
		case e.Level != "":
			return slices.Index(levels, e.Level)
		case e.Hwcap != 0:
			return plain + 1
		}
		return plain
	}
	sorted := slices.DeleteFunc(slices.Clone(entries), func(e CacheEntry) bool { return rank(e) < 0 })
	slices.SortStableFunc(sorted, func(a, b CacheEntry) int { return cmp.Compare(rank(a), rank(b)) })
	return sorted
}

// openFirst opens the first file that is there and for the wanted machine, nil
// if there is none.
func (v *view) openFirst(entries []CacheEntry) *found {
	for _, e := range entries {
		f, err := v.open(e.Path)
		if err != nil {
			continue
		}
		if v.suits(f) {
			return f
		}
		f.close()
	}
	return nil
}
