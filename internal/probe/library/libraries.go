package library

import (
	"cmp"
	"debug/elf"
	"io"
	"slices"
)

// maxCache bounds how much of an ld.so.cache is read, in bytes. A large host's has 100 KB.
const maxCache = 16 << 20

// findLibrary returns the library with a name, or nil.
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

// cache returns the entries of the view's ld.so.cache that the wanted machine's loader would
// use. It returns none if the cache can't be read: systems with musl have none.
func (v *view) cache() []cacheEntry {
	f, err := v.open("/etc/ld.so.cache")
	if err != nil {
		return nil
	}
	defer f.close()
	b, err := io.ReadAll(io.LimitReader(f.file, maxCache))
	if err != nil {
		return nil
	}
	entries, err := readCache(b)
	if err != nil {
		return nil
	}
	return slices.DeleteFunc(entries, func(e cacheEntry) bool { return !loads(v.machine, e.flags) })
}

// The flags of cache entries that the 64-bit loaders accept: ELF for glibc 2's C library, and
// the ABI (_DL_CACHE_DEFAULT_ID in glibc's sysdeps).
const (
	cachedX8664   = 0x0303
	cachedAArch64 = 0x0a03
)

// loads reports whether a machine's loader uses entries with these flags. For other machines
// the ELF header alone decides.
func loads(machine elf.Machine, flags uint32) bool {
	switch machine {
	case elf.EM_X86_64:
		return flags == cachedX8664
	case elf.EM_AARCH64:
		return flags == cachedAArch64
	}
	return true
}

// openCached opens, for each soname that matches a name with the given likeness, the file that
// ld.so would use.
func (v *view) openCached(entries []cacheEntry, name string, like likeness) []named {
	bySoname := map[string][]cacheEntry{}
	var sonames []string
	for _, e := range entries {
		if compare(e.soname, name) != like {
			continue
		}
		if bySoname[e.soname] == nil {
			sonames = append(sonames, e.soname)
		}
		bySoname[e.soname] = append(bySoname[e.soname], e)
	}
	var files []named
	for _, soname := range sonames {
		if f := v.openFirst(v.inOrder(bySoname[soname])); f != nil {
			files = append(files, named{f, soname})
		}
	}
	return files
}

// inOrder sorts the entries of one soname by ld.so's preference: the highest level that this
// processor has, then the plain entry, each in the cache's order. Entries that need features by
// old glibc's masks come last, since we can't tell which processors they are for.
func (v *view) inOrder(entries []cacheEntry) []cacheEntry {
	levels := levelsOf(v.machine)
	plain := len(levels)
	rank := func(e cacheEntry) int {
		switch {
		case e.level != "":
			return slices.Index(levels, e.level)
		case e.hwcap != 0:
			return plain + 1
		}
		return plain
	}
	sorted := slices.DeleteFunc(slices.Clone(entries), func(e cacheEntry) bool { return rank(e) < 0 })
	slices.SortStableFunc(sorted, func(a, b cacheEntry) int { return cmp.Compare(rank(a), rank(b)) })
	return sorted
}

// openFirst opens the first existing file for the wanted machine, or returns nil.
func (v *view) openFirst(entries []cacheEntry) *found {
	for _, e := range entries {
		f, err := v.open(e.path)
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
