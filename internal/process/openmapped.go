package process

import (
	"errors"
	"iter"
	"os"
	"path/filepath"
	"strconv"
	"strings"

	"golang.org/x/sys/unix"

	"github.com/ringtap/ringtap/callchain"
	"github.com/ringtap/ringtap/internal/host/openfile"
)

// maxPeers bounds the processes through which a file is searched for when the one that mapped
// it is gone.
const maxPeers = 4

// openObject opens the file of an object through a process that maps it. If the file already
// has an object under another identity, it returns that object, otherwise o.
func (t *Table) openObject(o *Object, p *Process, s *seenMapping) *Object {
	f, err := t.openMapped(p, s)
	if err != nil {
		if errors.Is(err, errBudget) {
			t.sweepAt = 0 // sweep soon: files mapped only by exited processes make room
		}
		o.tries++
		o.err = err
		o.generated = isMemfd(o.Path)
		if !notFound(err) {
			t.log.Debug("cannot open mapped file", "pid", p.PID, "path", o.Path, "error", err)
		}
		return o
	}
	k := key{id: f.id}
	if other := t.byKey[k]; other != nil && other != o && other.file != nil {
		f.close()
		t.forget(o.key)
		t.byKey[o.key] = other
		return other
	}
	o.file, o.err = f, nil
	o.deleted = o.deleted || f.nameless
	o.generated = (o.deleted || isMemfd(o.Path)) && !isELF(f)
	if _, taken := t.byKey[k]; !taken {
		t.byKey[k] = o
	}
	return o
}

// openLate tries again to open an object that now has a sample.
func (t *Table) openLate(o *Object, p *Process, m *mapping) *Object {
	return t.openObject(o, p, &seenMapping{
		start:      m.start,
		end:        m.end,
		id:         o.key.id,
		generation: o.generation,
		build:      []byte(o.key.build),
		path:       []byte(o.Path),
	})
}

// isMemfd reports whether a path belongs to memfd_create(2).
func isMemfd(path string) bool { return strings.HasPrefix(path, "/memfd:") }

// isELF reports whether a file holds linked code. A just-in-time compiler may also keep its
// code in a file, so that it can map it twice.
func isELF(f *file) bool {
	var magic [4]byte
	_, err := f.ReadAt(magic[:], 0)
	return err == nil && string(magic[:]) == "\x7fELF"
}

// openMapped opens a mapped file. It tries the kernel's own links, which need no name, but
// privileges and a living process. Then it tries the file's name as the process sees it.
func (t *Table) openMapped(p *Process, s *seenMapping) (*file, error) {
	name := string(s.path)
	if r := t.fs.Recording; r != nil {
		return t.openRecorded(r, s)
	}
	first := error(unix.ESRCH)
	if !p.exited {
		f, err := t.openLink(p, s, mapFile(s.start, s.end))
		if err == nil {
			return f, nil
		}
		first = err
	}
	for root := range t.roots(p) {
		fd, st, err := openfile.Beneath(root, name, openfile.NoLink)
		if err == nil {
			if err = s.check(fd, &st); err == nil {
				return t.files.add(fd, &st, s.file(root))
			}
			unix.Close(fd)
		}
		if !notFound(err) || notFound(first) {
			first = err
		}
	}
	if p.exited {
		return nil, first
	}
	// Try the program of our own process, if we are not root; then a range that was split
	// since.
	if f, err := t.openLink(p, s, "exe"); err == nil {
		return f, nil
	}
	if link := t.findMapFile(p, s); link != "" {
		if f, err := t.openLink(p, s, link); err == nil {
			return f, nil
		}
	}
	return nil, first
}

// openRecorded opens the file of a recorded mapping, if this machine has it.
func (t *Table) openRecorded(r *Recording, s *seenMapping) (*file, error) {
	f, isSame, err := r.Open(string(s.path), s.build)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	fd, err := unix.FcntlInt(f.Fd(), unix.F_DUPFD_CLOEXEC, 0)
	if err != nil {
		return nil, os.NewSyscallError("fcntl", err)
	}
	var st unix.Stat_t
	if err = unix.Fstat(fd, &st); err == nil && !isSame {
		err = s.check(fd, &st)
	}
	name, linkErr := filepath.EvalSymlinks(f.Name()) // it is reopened without following links
	if err = errors.Join(err, linkErr); err != nil {
		unix.Close(fd)
		return nil, err
	}
	return t.files.add(fd, &st, &file{name: name, roots: []string{"/"}})
}

// file returns a file that can be reopened beneath root, or beneath ours if that process is
// gone.
func (s *seenMapping) file(root string) *file {
	return &file{name: string(s.path), roots: []string{root, "/"}}
}

// openLink opens a magic link in a process's /proc directory if it leads to the mapped file. If
// the inode differs, the link's text may prove it: overlayfs shows another number for a file
// that was changed after it was opened.
func (t *Table) openLink(p *Process, s *seenMapping, link string) (*file, error) {
	path := t.fs.Path(p.PID, link)
	fd, st, err := openfile.Regular(path)
	if err != nil {
		return nil, err
	}
	if err := s.check(fd, &st); err != nil && !(ownNumbers(fd) && link != "exe" && linksTo(path, s.path)) {
		unix.Close(fd)
		return nil, err
	}
	return t.files.add(fd, &st, s.file(t.fs.Path(p.PID, "root")))
}

// linksTo reports whether a magic link's text is a mapping's path.
func linksTo(link string, path []byte) bool {
	target, err := os.Readlink(link)
	return err == nil && strings.TrimSuffix(target, deletedMark) == string(path)
}

// mapFile returns the name of a range in /proc/PID/map_files.
func mapFile(start, end uint64) string {
	return "map_files/" + strconv.FormatUint(start, 16) + "-" + strconv.FormatUint(end, 16)
}

// findMapFile returns the link of any range that maps the same inode, or "".
func (t *Table) findMapFile(p *Process, s *seenMapping) (link string) {
	if s.id.inode == 0 {
		return ""
	}
	// An error leaves link empty, which means not found.
	_ = t.fs.Areas(p.PID, func(a *Area) bool {
		if a.id == s.id {
			link = mapFile(a.Start, a.End)
		}
		return link == ""
	})
	return link
}

// roots yields the directories beneath which a process's paths can be resolved: its own root;
// then our root if it lives in our mount namespace, otherwise the roots of a few processes in
// its mount namespace.
func (t *Table) roots(p *Process) iter.Seq[string] {
	return func(yield func(string) bool) {
		if t.fs.Recording != nil {
			return
		}
		if !p.exited && !yield(t.fs.Path(p.PID, "root")) {
			return
		}
		if p.mntNS == 0 || p.mntNS == t.mntNS {
			yield("/")
			return
		}
		peers := 0
		for _, other := range t.byPID {
			if other == p || other.exited || other.mntNS != p.mntNS {
				continue
			}
			if peers++; peers > maxPeers || !yield(t.fs.Path(other.PID, "root")) {
				return
			}
		}
	}
}

// name gives an object its ID when a sample first hits it. It also prepares what its frames
// will need, while the process still exists.
func (t *Table) name(p *Process, m *mapping) {
	if o := m.object; o.ID == callchain.Kernel && o.Kind == File && o.file == nil {
		m.object = t.openLate(o, p, m)
	}
	o := m.object
	if o.ID == callchain.Kernel {
		t.number(p, o)
	} else if !o.dropped {
		return
	}
	o.dropped = false
	if t.options.Unwind {
		if o.compile(); o.unwindErr != nil {
			t.log.Info("no unwind table, frame pointers instead", "object", o.Path, "error", o.unwindErr)
		}
	}
}

// number gives an object its ID.
func (t *Table) number(p *Process, o *Object) {
	switch o.Kind {
	case VDSO:
		if r := t.fs.Recording; r != nil {
			o.file, o.err = t.openRecorded(r, &seenMapping{path: []byte(o.Path)})
			break
		}
		if !o.compat {
			o.image, o.err = readVDSO()
			break
		}
		if o.image, o.err = t.fs.readCompatVDSO(p.PID); o.err != nil {
			t.vdso32 = nil // the next process may live long enough
		}
	case Anon:
		if _, err := o.PerfMap(); err != nil && !notFound(err) {
			t.log.Debug("cannot open perf map", "pid", p.PID, "error", err)
		}
	}
	t.last++
	o.ID = t.last
	t.objects[o.ID] = o
}

// notFound reports whether an error means that a file or process is gone.
func notFound(err error) bool {
	return errors.Is(err, os.ErrNotExist) || errors.Is(err, unix.ESRCH) || errors.Is(err, unix.ENOTDIR)
}
