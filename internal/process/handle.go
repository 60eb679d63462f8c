package process

import (
	"golang.org/x/sys/unix"

	"github.com/ringtap/ringtap/perfevent"
)

// Handle takes a record that may change the model; all others, samples among
// them, are ignored. Records are to come in the order of their time. Nothing
// of the record is kept.
func (t *Table) Handle(record perfevent.Record) {
	switch r := record.(type) {
	case *perfevent.Mmap:
		t.mmap(r)
	case *perfevent.Comm:
		t.comm(r)
	case *perfevent.Fork:
		t.fork(r)
	case *perfevent.Exit:
		t.end(r)
	case *perfevent.Namespaces:
		t.namespaces(r)
	case *perfevent.Lost:
		t.losses++
	}
}

// about returns the process that a record is about, nil if there is none or
// the record is older than what is known of it.
func (t *Table) about(pid uint32, time uint64) *Process {
	if pid == 0 || pid > maxPID {
		return nil
	}
	p := t.byPID[int(pid)]
	if p == nil {
		p = t.load(int(pid))
	}
	if time < p.since {
		return nil
	}
	return p
}

// mmap enters a mapping, or the hole that one makes that is not executable.
func (t *Table) mmap(r *perfevent.Mmap) {
	p := t.about(r.PID, r.Time)
	if p == nil || r.Addr+r.Len < r.Addr {
		return
	}
	executable := r.Prot&unix.PROT_EXEC != 0
	if r.Type == unix.PERF_RECORD_MMAP {
		executable = r.Misc&unix.PERF_RECORD_MISC_MMAP_DATA == 0
	}
	if !executable {
		p.put(mapping{start: r.Addr, end: r.Addr + r.Len})
		return
	}
	path, deleted := cutDeleted(r.Filename)
	i, overlaid := find(p.mappings, r.Addr)
	overlaid = overlaid && p.mappings[i].object.Kind == File
	m := t.mapped(p, &seenMapping{
		start:      r.Addr,
		end:        r.Addr + r.Len,
		offset:     r.Pgoff,
		id:         fileID{r.Major, r.Minor, r.Inode},
		generation: r.InodeGeneration,
		build:      r.BuildID,
		path:       path,
		deleted:    deleted,
	})
	if overlaid && m.object != nil && m.object.Kind == Anon && p.remapped < maxRemapped {
		p.remapped++
		t.readMaps(p)
	}
}

// comm renames a process, or starts its next life.
func (t *Table) comm(r *perfevent.Comm) {
	p := t.about(r.PID, r.Time)
	if p == nil {
		return
	}
	if !r.Exec {
		if r.TID == r.PID && p.Comm != string(r.Name) {
			p.Comm = string(r.Name)
		}
		return
	}
	next := t.newProcess(p.PID, string(r.Name), r.Time)
	next.inherit(p)
	next.NSPID = p.NSPID
	// Who starts a container or a service moves it to its cgroup before exec.
	if path, ok := t.cgroup(next.PID); ok {
		next.Cgroup = path
	}
	t.replaced(p, r.Time)
	t.byPID[next.PID] = next
}

// fork starts the life of a child with the mappings of its parent.
func (t *Table) fork(r *perfevent.Fork) {
	if r.PID == r.PPID || r.PID == 0 || r.PID > maxPID || r.PPID > maxPID {
		return // a thread shares all that we keep
	}
	pid := int(r.PID)
	known := t.byPID[pid]
	if known != nil && r.Time < known.since {
		return
	}
	parent := t.Process(int(r.PPID))
	if parent.unknown {
		delete(t.byPID, pid) // whose pid this was before
		if t.load(pid).unknown && known != nil && !known.exited {
			t.byPID[pid] = known // it was about to end when it was read
		}
		return
	}
	child := t.newProcess(pid, parent.Comm, r.Time)
	child.inherit(parent)
	child.Parent = parent.PID
	child.mappings, child.shared, parent.shared = parent.mappings, true, true
	child.heir = parent.heir || parent.anon != nil
	if child.nested {
		t.readNSPID(child)
	}
	t.replaced(t.byPID[pid], r.Time)
	t.byPID[pid] = child
}

// inherit takes over what a child has from its parent, and a process keeps
// through exec.
func (p *Process) inherit(from *Process) {
	p.Cgroup, p.Parent = from.Cgroup, from.Parent
	p.mntNS, p.pidNS, p.nested = from.mntNS, from.pidNS, from.nested
	p.uids = from.uids
}

// readNSPID asks for the number that a process has in its own pid namespace,
// which no record tells.
func (t *Table) readNSPID(p *Process) {
	st, err := t.fs.status(p.PID)
	if err != nil {
		p.NSPID = 0
		return
	}
	p.NSPID, p.nested = st.NSPID, st.nested
}

// end marks the end of a process. It is that of its main thread: where others
// go on they are samples of a process that has exited, which is not forgotten
// while they come. The time does not matter, since a process that was read
// from /proc after its exit was a zombie there.
func (t *Table) end(r *perfevent.Exit) {
	if r.PID != r.TID || r.PID == 0 || r.PID > maxPID {
		return
	}
	if p := t.byPID[int(r.PID)]; p != nil {
		t.exit(p)
	}
}

// namespaces notes in which namespaces a process lives.
func (t *Table) namespaces(r *perfevent.Namespaces) {
	if r.PID != r.TID || len(r.Links) <= perfevent.NamespaceMount {
		return
	}
	p := t.about(r.PID, r.Time)
	if p == nil {
		return
	}
	p.mntNS = r.Links[perfevent.NamespaceMount].Inode
	pidNS := r.Links[perfevent.NamespacePID].Inode
	if pidNS == p.pidNS {
		return
	}
	p.pidNS = pidNS
	if pidNS == t.pidNS {
		p.NSPID, p.nested = p.PID, false
		return
	}
	t.readNSPID(p)
}
