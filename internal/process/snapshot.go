package process

import (
	"errors"
	"fmt"
	"io/fs"
	"strconv"
)

// Snapshot reads the processes with the given pids from /proc, or all processes if there are
// none. Call it after the ring has started to record and before the first Handle. Each process
// remembers when it was read and ignores older records, so nothing is missed in between.
//
// It is no error if a process is gone or its files may not be read. The error says that /proc
// itself can't be read.
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
		// If a process ended before we read it, list again to find its children: the records of
		// their forks give only their parent.
		if t.readProcesses(pids) == 0 {
			break
		}
	}
	return nil
}

// listings bounds how often /proc is listed if processes keep ending.
const listings = 4

// readProcesses reads the processes that are not known yet. It returns how many were gone.
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

// readProcess reads everything about a process and adds it to the table. Only its status is
// required; other files may be unreadable. If pid is a thread's id, the result is the thread's
// process.
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
	p.mntNS = t.fs.Inode(name + "/ns/mnt")
	p.pidNS = t.fs.Inode(name + "/ns/pid")
	t.byPID[p.PID] = p
	if st.zombie { // its exit record may have come before we started
		t.exit(p)
	}
	t.readMaps(p)
	if len(p.mappings) == 0 {
		// It has ended meanwhile, or is a kernel thread. Only records still to come can say
		// more about it.
		p.since = 0
	}
	return p, nil
}

// readMaps reads a process's executable mappings and adds them to the known ones. If the main
// thread has exited, it reads them through another thread.
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
