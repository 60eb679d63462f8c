package buildid

import (
	"cmp"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
)

// ErrUnknown is returned if the build id of the wanted file is empty.
var ErrUnknown = errors.New("its build id is not known")

// NotFoundError is returned if no file has the wanted build id.
type NotFoundError struct {
	ID []byte
	// Others explains why each file that was tried is not the wanted one: "/bin/ls has build id
	// 12ab". Files that do not exist are left out.
	Others []string
}

func (e *NotFoundError) Error() string {
	text := fmt.Sprintf("no file has build id %x", e.ID)
	if len(e.Others) > 0 {
		text += ": " + strings.Join(e.Others, "; ")
	}
	return text
}

// Files says where files of a recording may be on this machine. An empty field is not searched.
type Files struct {
	// Symfs is a directory with the recorded machine's files (perf-report(1), --symfs). Links in
	// it cannot lead out of it.
	Symfs string
	// Cache is perf's build-id cache (perf-buildid-cache(1)).
	Cache string
	// Debuginfod is the cache of debuginfod's clients (debuginfod_find_debuginfo(3)). Nothing is
	// downloaded.
	Debuginfod string
}

// Default returns the caches' usual places, given os.Getenv. It does not read ~/.perfconfig, where
// buildid.dir may name another build-id cache.
func Default(getenv func(string) string) Files {
	var f Files
	home, cache := getenv("HOME"), getenv("XDG_CACHE_HOME")
	if home != "" {
		f.Cache = filepath.Join(home, ".debug")
		cache = cmp.Or(cache, filepath.Join(home, ".cache"))
	}
	if cache != "" {
		f.Debuginfod = filepath.Join(cache, "debuginfod_client")
	}
	f.Debuginfod = cmp.Or(getenv("DEBUGINFOD_CACHE_PATH"), f.Debuginfod)
	return f
}

// Image opens a program, a library, a vdso or a kernel by its build id. paths are the file's names
// on the recorded machine. Image tries them below Symfs first, and on this machine after the caches.
// It ignores a path that is not absolute ("[vdso]").
//
// Image reads the build id of each file that it finds, so a file's name and place do not matter. The
// caller closes the file. Do not open it again by its Name: links in Symfs would lead out of it.
//
// The error is ErrUnknown if id is empty, and a *NotFoundError if no file has the build id.
func (f Files) Image(id []byte, paths ...string) (*os.File, error) {
	paths = slices.DeleteFunc(slices.Clone(paths), func(path string) bool { return !filepath.IsAbs(path) })
	var s search
	s.beneath(f.Symfs, paths...)
	for _, text := range spellings(id) {
		dir := buildIDDir(text)
		s.beneath(f.Symfs, dir, dir+"/elf", dir+"/vdso")
		s.in(f.Cache, dir+"/elf", dir+"/vdso", dir) // before Linux 4.8, dir was the file itself
		s.in(f.Debuginfod, text+"/executable")
	}
	s.in("/", paths...)
	return s.open(id)
}

// Debug is like Image for the separate debug file, which has symbols and DWARF but no code.
func (f Files) Debug(id []byte) (*os.File, error) {
	const root = "/usr/lib/debug/"
	var s search
	for _, text := range spellings(id) {
		dir := buildIDDir(text)
		s.beneath(f.Symfs, root+dir+".debug", dir+".debug", dir+"/debug")
		s.in(f.Cache, dir+"/debug")
		s.in(f.Debuginfod, text+"/debuginfo")
		s.in(root, dir+".debug")
	}
	return s.open(id)
}

// Kallsyms opens the symbols of a kernel in perf's cache: text in the format of /proc/kallsyms. The
// text has no build id, so Kallsyms relies on the name of the directory, which perf record chose. The
// caller closes the file. The errors are those of Image.
func (f Files) Kallsyms(id []byte) (*os.File, error) {
	var s search
	for _, text := range spellings(id) {
		s.in(f.Cache, "[kernel.kallsyms]/"+text+"/kallsyms", buildIDDir(text)+"/kallsyms")
	}
	s.text = true
	return s.open(id)
}
