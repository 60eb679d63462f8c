package library

import (
	"debug/elf"
	"os"
	"runtime"

	"golang.org/x/sys/unix"

	"github.com/ringtap/ringtap/internal/elfimage"
	"github.com/ringtap/ringtap/internal/openfile"
	"github.com/ringtap/ringtap/internal/proc"
)

// view is a place to look at files from.
type view struct {
	root    string // "" is our own root, where links of /proc are followed too
	pid     int    // 0 if it is not a process's
	machine elf.Machine
}

func newView(o Options) (*view, error) {
	v := &view{root: o.Root, pid: o.PID, machine: o.Machine}
	if v.root == "/" {
		v.root = ""
	}
	if v.pid != 0 {
		if err := v.enter(o.Root != ""); err != nil {
			return nil, err
		}
	}
	if v.machine == elf.EM_NONE {
		v.machine = hostMachine()
	}
	return v, nil
}

// enter makes the view that of its process.
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

// proc is the name of a file of the view's process.
func (v *view) proc(name string) string { return proc.Live.Path(v.pid, name) }

// sharesMounts tells whether the process lives in our mount namespace.
func (v *view) sharesMounts() bool {
	same, err := proc.Live.SameNamespace(v.pid, "mnt")
	return err == nil && same
}

// ownMachine is what the process's program was built for, EM_NONE if it has none
// (a kernel thread) or it can't be read.
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

func hostMachine() elf.Machine {
	if runtime.GOARCH == "arm64" {
		return elf.EM_AARCH64
	}
	return elf.EM_X86_64
}

// path is where we see a file of the view.
func (v *view) path(name string) string { return v.root + name }

// open opens a regular file of the view; its path is absolute.
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

// names returns the names in a directory of the view, up to a limit.
func (v *view) names(dir string, limit int) []string {
	fd, err := openfile.Directory(v.root+"/", dir)
	if err != nil {
		return nil
	}
	d := os.NewFile(uintptr(fd), dir)
	defer d.Close()
	names, _ := d.Readdirnames(limit) // with those that were read before an error
	return names
}

// openLink opens the regular file that a magic link of /proc leads to.
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
	path  string // for people
	plain string // by which the kernel may reach it; "" if by none
}

func (f *found) close() { f.file.Close() }

func (f *found) image() (*elfimage.Image, error) { return elfimage.New(f.file, f.st.Size) }

func sameFile(a, b *unix.Stat_t) bool { return a.Dev == b.Dev && a.Ino == b.Ino }
