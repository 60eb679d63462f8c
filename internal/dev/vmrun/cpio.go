package main

import (
	"fmt"
	"io"
	"os"
)

// archive writes the format of an initramfs, from which the kernel makes its first
// file system: cpio "newc" (Linux, Documentation/driver-api/early-userspace/
// buffer-format.rst).
type archive struct {
	w     io.Writer
	inode int
	pages int64 // how many pages the files take when they are unpacked
	err   error // the first error
}

const pageSize = 4096 // of the kernels that vmrun boots

const (
	modeDirectory = 0o040000
	modeRegular   = 0o100000
	modeLink      = 0o120000
	modeCharacter = 0o020000
)

// add writes one entry. major and minor are the numbers of a device, and 0 for other files.
func (a *archive) add(name string, mode uint32, size int64, data io.Reader, major, minor uint32) {
	if a.err != nil {
		return
	}
	a.inode++
	a.pages += (size + pageSize - 1) / pageSize
	header := fmt.Sprintf("070701%08x%08x%08x%08x%08x%08x%08x%08x%08x%08x%08x%08x%08x",
		a.inode, mode, 0, 0, 1, 0, size, 0, 0, major, minor, len(name)+1, 0)
	a.pad(int64(len(header)+len(name)+1), header+name+"\x00")
	if data != nil && a.err == nil {
		n, err := io.Copy(a.w, data)
		if err == nil && n != size {
			err = fmt.Errorf("%s has %d bytes, not %d", name, n, size)
		}
		if a.err = err; a.err == nil {
			a.pad(size, "")
		}
	}
}

// pad writes text, and then zeros up to the next multiple of four. length is the number
// of bytes to pad, including text.
func (a *archive) pad(length int64, text string) {
	_, a.err = io.WriteString(a.w, text+"\x00\x00\x00"[:(4-length%4)%4])
}

func (a *archive) directory(name string) { a.add(name, modeDirectory|0o755, 0, nil, 0, 0) }

func (a *archive) file(name, path string, mode os.FileMode) {
	f, err := os.Open(path)
	if err != nil {
		if a.err == nil {
			a.err = err
		}
		return
	}
	defer f.Close()
	info, err := f.Stat()
	if err != nil {
		a.err = err
		return
	}
	a.add(name, modeRegular|uint32(mode.Perm()), info.Size(), f, 0, 0)
}

// close writes the end of the archive.
func (a *archive) close() error {
	a.add("TRAILER!!!", 0, 0, nil, 0, 0)
	return a.err
}
