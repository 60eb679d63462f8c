package library

import (
	"os"
	"path/filepath"
	"strings"

	"golang.org/x/sys/unix"
)

// deletedMark is appended by the kernel to the path of a file without a name (d_path in
// fs/d_path.c).
const deletedMark = " (deleted)"

// mappedFile is a file that the process has mapped.
type mappedFile struct {
	link    string // /proc/PID/map_files/…: leads to the inode even if its name is gone
	path    string // in the process's mount namespace, without the mark
	deleted bool
}

// findMapped returns the file with that name that the process has mapped, or nil. The process's
// program counts too.
func (v *view) findMapped(name string) (*found, error) {
	mapped, err := v.mapped()
	if err != nil {
		return nil, err
	}
	for _, like := range likenesses {
		var files []named
		for _, m := range mapped {
			if base := filepath.Base(m.path); compare(base, name) == like {
				files = v.addMapped(files, m, base)
			}
		}
		if f, err := choose(name, files); f != nil || err != nil {
			return f, err
		}
	}
	return v.findSoname(name, mapped)
}

// findSoname searches for a mapped file by its own soname: libc-2.31.so is libc.so.6.
func (v *view) findSoname(name string, mapped []mappedFile) (*found, error) {
	var files []named
	for _, m := range mapped {
		f := v.openMapped(m)
		if f == nil {
			continue
		}
		soname := f.soname()
		if compare(soname, name) == unlike {
			f.close()
			continue
		}
		files = append(files, named{f, soname})
	}
	return choose(name, files)
}

// addMapped adds a mapped file if it is ELF.
func (v *view) addMapped(files []named, m mappedFile, name string) []named {
	f := v.openMapped(m)
	if f == nil {
		return files
	}
	if _, err := f.image(); err != nil {
		f.close()
		return files
	}
	return append(files, named{f, name})
}

// mapped returns the files that the process has mapped, and its program, each once.
func (v *view) mapped() ([]mappedFile, error) {
	dir := v.proc("map_files")
	ranges, err := os.ReadDir(dir)
	if err != nil {
		return nil, &ProcessError{PID: v.pid, Err: err}
	}
	links := []string{v.proc("exe")}
	for _, r := range ranges {
		links = append(links, dir+"/"+r.Name())
	}
	var list []mappedFile
	seen := map[string]bool{}
	for _, link := range links {
		path, err := os.Readlink(link)
		if err != nil || seen[path] {
			continue // unmapped meanwhile, or another range of the same file
		}
		seen[path] = true
		path, deleted := strings.CutSuffix(path, deletedMark)
		list = append(list, mappedFile{link, path, deleted})
	}
	return list, nil
}

// Mapped reports whether a process currently maps a file, as its program or otherwise. Errors
// are *ProcessError and those of stat(2).
func Mapped(pid int, file string) (bool, error) {
	var wanted, st unix.Stat_t
	if err := unix.Stat(file, &wanted); err != nil {
		return false, &os.PathError{Op: "stat", Path: file, Err: err}
	}
	v := &view{pid: pid}
	mapped, err := v.mapped()
	for _, m := range mapped {
		switch failed := unix.Stat(m.link, &st); {
		case failed == nil && sameFile(&st, &wanted):
			return true, nil
		case failed != nil && failed != unix.ENOENT: // ENOENT: unmapped meanwhile
			err = &ProcessError{PID: pid, Err: failed}
		}
	}
	return false, err
}

// openMapped opens a mapped file through the kernel's link to it, which needs privileges, or by
// its name. It returns nil if neither works.
func (v *view) openMapped(m mappedFile) *found {
	byName := v.openNamed(m)
	f, err := openLink(m.link)
	if err != nil {
		return byName
	}
	if byName == nil {
		f.path = m.path
		return f
	}
	if !sameFile(&f.st, &byName.st) { // replaced meanwhile
		byName.close()
		f.path = m.path
		return f
	}
	f.close()
	return byName
}

// openNamed opens the file that now has a mapped file's name, or returns nil. The name is
// relative to the mount namespace's root. In a chroot(2) it starts with the process's root.
func (v *view) openNamed(m mappedFile) *found {
	if m.deleted || !filepath.IsAbs(m.path) {
		return nil
	}
	name := m.path
	if v.root != "" {
		if root, err := os.Readlink(v.root); err == nil && root != "/" {
			if inside, ok := strings.CutPrefix(name, root+"/"); ok {
				name = "/" + inside
			}
		}
	}
	f, err := v.open(name)
	if err != nil {
		return nil
	}
	return f
}
