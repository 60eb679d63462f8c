package process

import (
	"golang.org/x/sys/unix"

	"github.com/ringtap/ringtap/perfevent"
)

// Handle updates the model from a record. It ignores records that don't matter here, such as
// samples. Records must come in time order. It keeps no reference to the record.
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

// about returns the process that a record is about, or nil if there is none or the record is
// older than the process's data.
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

// mmap adds an executable mapping, or the hole made by a mapping that is not executable.
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

// comm renames a process. If it is an exec, it starts the process's next life.
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
	// Container and service managers move a process to its cgroup before exec.
	if path, ok := t.cgroup(next.PID); ok {
		next.Cgroup = path
	}
	t.replaced(p, r.Time)
	t.byPID[next.PID] = next
}

// fork starts the life of a child, with its parent's mappings.
func (t *Table) fork(r *perfevent.Fork) {
	if r.PID == r.PPID || r.PID == 0 || r.PID > maxPID || r.PPID > maxPID {
		return // a thread shares everything we track
	}
	pid := int(r.PID)
	known := t.byPID[pid]
	if known != nil && r.Time < known.since {
		return
	}
	parent := t.Process(int(r.PPID))
	if parent.unknown && t.fs.Recording == nil {
		delete(t.byPID, pid) // forget the pid's former process
		if t.load(pid).unknown && known != nil && !known.exited {
			t.byPID[pid] = known // the process was about to end when it was read
		}
		return
	}
	comm := parent.Comm
	if comm == numbered(parent.PID) {
		comm = numbered(pid)
	}
	child := t.newProcess(pid, comm, r.Time)
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

// inherit copies what a child gets from its parent, and what a process keeps through exec.
func (p *Process) inherit(from *Process) {
	p.Cgroup, p.Parent = from.Cgroup, from.Parent
	p.mntNS, p.pidNS, p.nested = from.mntNS, from.pidNS, from.nested
	p.uids = from.uids
}

// readNSPID reads a process's PID in its own pid namespace, which no record has.
func (t *Table) readNSPID(p *Process) {
	st, err := t.fs.status(p.PID)
	if err != nil {
		p.NSPID = 0
		return
	}
	p.NSPID, p.nested = st.NSPID, st.nested
}

// end marks the end of a process, which is the end of its main thread. If other threads go on,
// their samples belong to an exited process, which is kept while they come. The record's time
// does not matter: a process read from /proc after its exit was a zombie there.
func (t *Table) end(r *perfevent.Exit) {
	if r.PID != r.TID || r.PID == 0 || r.PID > maxPID {
		return
	}
	if p := t.byPID[int(r.PID)]; p != nil {
		t.exit(p)
	}
}

// namespaces records the namespaces of a process.
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
