package library

import (
	"debug/elf"
	"os"

	"golang.org/x/sys/unix"

	"github.com/ringtap/ringtap/internal/arch"
	"github.com/ringtap/ringtap/internal/host/openfile"
	"github.com/ringtap/ringtap/internal/host/proc"
	"github.com/ringtap/ringtap/internal/object/elfimage"
)

// view is the point of view from which files are resolved.
type view struct {
	root    string // "" is our own root, where links in /proc are followed too
	pid     int    // 0 if the view is not a process's
	machine elf.Machine
}

func newView(o Options) (*view, error) {
	v := &view{root: o.root, pid: o.PID, machine: o.Machine}
	if v.root == "/" {
		v.root = ""
	}
	if v.pid != 0 {
		if err := v.enter(o.root != ""); err != nil {
			return nil, err
		}
	}
	if v.machine == elf.EM_NONE {
		v.machine = arch.Here.ELF
	}
	return v, nil
}

// enter switches the view to its process.
func (v *view) enter(keepRoot bool) error {
	root := v.proc("root")
	var theirs, ours unix.Stat_t
	if err := unix.Stat(root+"/", &theirs); err != nil {
		return &ProcessError{PID: v.pid, Err: err}
	}
	if err := unix.Stat("/", &ours); err != nil {
		return &ProcessError{PID: v.pid, Err: err}
	}
	if !keepRoot && !(sameFile(&theirs, &ours) && v.sharesMounts()) {
		v.root = root
	}
	if v.machine == elf.EM_NONE {
		v.machine = v.ownMachine()
	}
	return nil
}

// proc returns the name of a /proc file of the view's process.
func (v *view) proc(name string) string { return proc.Live.Path(v.pid, name) }

// sharesMounts reports whether the process lives in our mount namespace.
func (v *view) sharesMounts() bool {
	same, err := proc.Live.SameNamespace(v.pid, "mnt")
	return err == nil && same
}

// ownMachine returns the machine of the process's program. It returns EM_NONE if the process
// has no program (a kernel thread) or it can't be read.
func (v *view) ownMachine() elf.Machine {
	f, err := openLink(v.proc("exe"))
	if err != nil {
		return elf.EM_NONE
	}
	defer f.close()
	if img, err := f.image(); err == nil {
		return img.Machine
	}
	return elf.EM_NONE
}

// path returns our path to a file of the view.
func (v *view) path(name string) string { return v.root + name }

// open opens a regular file of the view, given its absolute path.
func (v *view) open(name string) (*found, error) {
	var fd int
	var st unix.Stat_t
	var err error
	if v.root == "" {
		fd, st, err = openfile.Regular(name)
	} else {
		fd, st, err = openfile.Beneath(v.root, name, openfile.Follow)
	}
	if err != nil {
		return nil, err
	}
	f := &found{file: os.NewFile(uintptr(fd), v.path(name)), st: st, path: v.path(name)}
	if v.root == "" {
		f.plain = name
	}
	return f, nil
}

// names returns at most limit names in a directory of the view.
func (v *view) names(dir string, limit int) []string {
	fd, err := openfile.Directory(v.root+"/", dir)
	if err != nil {
		return nil
	}
	d := os.NewFile(uintptr(fd), dir)
	defer d.Close()
	names, _ := d.Readdirnames(limit) // including names read before an error
	return names
}

// openLink opens the regular file behind a magic link in /proc.
func openLink(name string) (*found, error) {
	fd, st, err := openfile.Regular(name)
	if err != nil {
		return nil, err
	}
	return &found{file: os.NewFile(uintptr(fd), name), st: st, path: name}, nil
}

// found is an open file.
type found struct {
	file  *os.File
	st    unix.Stat_t
	path  string // for display
	plain string // path by which the kernel may reach it; "" if there is none
}

func (f *found) close() { f.file.Close() }

func (f *found) image() (*elfimage.Image, error) { return elfimage.New(f.file, f.st.Size) }

func sameFile(a, b *unix.Stat_t) bool { return a.Dev == b.Dev && a.Ino == b.Ino }
