package library

import (
	"debug/elf"
	"io"
	"path/filepath"
	"strings"
)

// maxDirNames bounds the entries read of one directory.
const maxDirNames = 1 << 16

// findInDirs searches for a library in the loaders' directories, without a cache.
func (v *view) findInDirs(name string) (*found, error) {
	dirs := v.libraryDirs()
	for _, like := range likenesses {
		f, err := choose(name, v.openInDirs(dirs, name, like))
		if f != nil || err != nil {
			return f, err
		}
	}
	return nil, nil
}

// openInDirs opens the files that match a name with the given likeness. Of files with the same
// name it takes the first that is a library for the wanted machine.
func (v *view) openInDirs(dirs []string, name string, like likeness) []named {
	var files []named
	opened := map[string]bool{}
	for _, dir := range dirs {
		for _, file := range v.matches(dir, name, like) {
			if opened[file] {
				continue
			}
			f, err := v.open(filepath.Join(dir, file))
			if err != nil {
				continue
			}
			if !v.suits(f) {
				f.close()
				continue
			}
			opened[file] = true
			files = append(files, named{f, file})
		}
	}
	return files
}

// matches returns the file names in a directory that match a name with the given likeness.
func (v *view) matches(dir, name string, like likeness) []string {
	if like == exact {
		return []string{name}
	}
	var list []string
	for _, file := range v.names(dir, maxDirNames) {
		if _, library := cutEnding(file); library && compare(file, name) == like {
			list = append(list, file)
		}
	}
	return list
}

// libraryDirs returns the directories that the loaders of the wanted machine search: musl's,
// from its path file or built in, and glibc's on distributions like Red Hat and Debian.
func (v *view) libraryDirs() []string {
	var dirs []string
	arch, wide := archName(v.machine)
	if arch != "" {
		for _, list := range []string{"/etc/ld-musl-" + arch + ".path", "/lib/ld-musl-" + arch + ".path"} {
			dirs = append(dirs, v.pathFile(list)...)
		}
		for _, prefix := range []string{"/usr/local/lib/", "/lib/", "/usr/lib/"} {
			dirs = append(dirs, prefix+arch+"-linux-gnu")
		}
	}
	if wide {
		dirs = append(dirs, "/usr/local/lib64", "/lib64", "/usr/lib64")
	}
	return append(dirs, "/lib", "/usr/local/lib", "/usr/lib")
}

// archName returns a machine's name in the names of directories.
func archName(machine elf.Machine) (name string, wide bool) {
	switch machine {
	case elf.EM_X86_64:
		return "x86_64", true
	case elf.EM_AARCH64:
		return "aarch64", true
	case elf.EM_386:
		return "i386", false
	}
	return "", false
}

// maxPathFile bounds how much of musl's list of directories is read, in bytes.
const maxPathFile = 64 << 10

// pathFile reads a list of directories, separated by newlines or colons (musl,
// ldso/dynlink.c).
func (v *view) pathFile(name string) []string {
	f, err := v.open(name)
	if err != nil {
		return nil
	}
	defer f.close()
	text, err := io.ReadAll(io.LimitReader(f.file, maxPathFile))
	if err != nil {
		return nil
	}
	return strings.FieldsFunc(string(text), func(r rune) bool { return r == '\n' || r == ':' })
}
