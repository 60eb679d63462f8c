package process

import (
	"errors"
	"fmt"
	"io/fs"
	"strconv"
)

// Snapshot reads the processes with the given pids, or all if there are none,
// from /proc. It is called when the ring is recording already and before the
// first Handle: each process remembers when it was read, and ignores records
// that are older, so that between the two nothing is missed.
//
// A process that is gone, or whose files may not be read, is no error; the
// error is that /proc itself cannot be read. It wraps the cause.
func (t *Table) Snapshot(pids ...int) error {
	if len(pids) > 0 {
		t.readProcesses(pids)
		return nil
	}
	for range listings {
		pids, err := t.fs.Processes()
		if err != nil {
			return fmt.Errorf("list processes: %w", err)
		}
		// The children of one that was gone when it was its turn are listed now: the
		// records of their births say whose they are, and no more of them.
		if t.readProcesses(pids) == 0 {
			break
		}
	}
	return nil
}

// listings is how often /proc is listed at most, where processes end all the time.
const listings = 4

// readProcesses reads processes that are not known, and returns how many were gone.
func (t *Table) readProcesses(pids []int) (gone int) {
	for _, pid := range pids {
		if pid <= 0 || pid > maxPID || t.byPID[pid] != nil {
			continue
		}
		_, err := t.readProcess(pid)
		switch {
		case err == nil:
		case notFound(err):
			gone++
		default:
			t.log.Debug("cannot read process", "pid", pid, "error", err)
		}
	}
	return gone
}

// readProcess reads all about a process and enters it. What may not be read is
// left out, but for its status, without which it does not exist. If pid is that
// of a thread, the result is its process.
func (t *Table) readProcess(pid int) (*Process, error) {
	since := t.now()
	st, err := t.fs.status(pid)
	if err != nil {
		return nil, err
	}
	if known := t.byPID[st.TGID]; known != nil {
		return known, nil
	}
	p := t.newProcess(st.TGID, st.Comm, since)
	p.NSPID, p.nested, p.uids = st.NSPID, st.nested, st.UIDs
	p.Cgroup, _ = t.cgroup(p.PID)
	name := strconv.Itoa(p.PID)
	p.mntNS = t.fs.inode(name, "ns/mnt")
	p.pidNS = t.fs.inode(name, "ns/pid")
	t.byPID[p.PID] = p
	if st.zombie { // its record may have come before ours began
		t.exit(p)
	}
	t.readMaps(p)
	if len(p.mappings) == 0 {
		// It has ended in the meantime, or is a thread of the kernel: what records
		// of its life are still to come say is all that will be known.
		p.since = 0
	}
	return p, nil
}

// readMaps reads the executable mappings of a process and adds them to those
// that are known. When the main thread has exited, the memory is seen through
// one of the others.
func (t *Table) readMaps(p *Process) {
	if !p.exited {
		t.readMapsFile(p, "maps")
		return
	}
	threads, err := t.fs.Threads(p.PID)
	if err != nil {
		return
	}
	for _, tid := range threads {
		if tid == p.PID {
			continue
		}
		t.readMapsFile(p, "task/"+strconv.Itoa(tid)+"/maps")
		if len(p.mappings) > 0 {
			return
		}
	}
}

func (t *Table) readMapsFile(p *Process, name string) {
	anonymous := false
	err := t.fs.lines(t.fs.Path(p.PID, name), func(line []byte) bool {
		if !isExecutable(line) {
			return true
		}
		a, ok := parseArea(line)
		if !ok {
			t.log.Debug("cannot read a mapping", "pid", p.PID, "line", string(line))
			return true
		}
		path, deleted := cutDeleted(unescape(a.Path))
		m := t.mapped(p, &seenMapping{
			start:   a.Start,
			end:     a.End,
			offset:  a.Offset,
			id:      a.id,
			path:    path,
			deleted: deleted,
		})
		anonymous = anonymous || m.object != nil && m.object.Kind == Anon
		return len(p.mappings) < maxMappings
	})
	if err != nil && !notFound(err) && !errors.Is(err, fs.ErrPermission) {
		t.log.Debug("cannot read mappings", "pid", p.PID, "error", err)
	}
	if anonymous {
		t.readRemapped(p, name)
	}
}

// cgroup reads the cgroup to show for a process.
func (t *Table) cgroup(pid int) (string, bool) {
	text, err := t.fs.read(pid, "cgroup")
	if err != nil {
		return "", false
	}
	return parseCgroup(text), true
}
