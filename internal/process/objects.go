package process

import "strings"

// maxObjectBytes bounds the memory for objects without samples. A process can create as many as
// it can map files.
const maxObjectBytes = 64 << 20

// maxTries bounds the attempts to open a file, each through the next process that maps it.
const maxTries = 16

// key identifies the object of a mapping: by the file's identity, by its build id if the kernel
// reports that instead, or by name.
type key struct {
	id    fileID
	build string
	name  string
}

// seenMapping is an executable mapping from maps or from a record.
type seenMapping struct {
	start, end uint64
	offset     uint64 // in the file
	id         fileID // inode 0 if there is no file or it is unknown
	generation uint64 // of the inode, 0 if unknown
	build      []byte // build id, instead of id
	path       []byte
	deleted    bool
}

// mapped adds a mapping to a process and returns it. The result has no object if it is empty.
func (t *Table) mapped(p *Process, s *seenMapping) mapping {
	if s.end <= s.start {
		return mapping{}
	}
	m := mapping{start: s.start, end: s.end, offset: s.offset, object: t.object(p, s)}
	if m.object.byAddress() {
		m.offset = m.start
	}
	p.put(m)
	return m
}

// object returns the object of a mapping.
func (t *Table) object(p *Process, s *seenMapping) *Object {
	name := string(s.path)
	switch {
	case t.isFunction(name):
		return t.special(Function, name)
	case name == "" || isAnonymous(name):
		return t.anonymous(p)
	case name == "[vdso]" && s.start >= 1<<32:
		if t.vdso == nil {
			t.vdso = &Object{Kind: VDSO, Path: name}
		}
		return t.vdso
	case name == "[vdso]":
		if t.vdso32 == nil {
			t.vdso32 = &Object{Kind: VDSO, Path: name, compat: true}
		}
		return t.vdso32
	case name == "[vsyscall]":
		return t.special(VSyscall, name)
	case name[0] != '/':
		return t.special(Special, name)
	}
	o := t.fileObject(p, s)
	if o.generated {
		return t.anonymous(p)
	}
	return o
}

// isFunction reports whether a recording has mapped a function by that name.
func (t *Table) isFunction(name string) bool {
	if t.fs.Recording == nil || t.fs.Recording.Function == nil {
		return false
	}
	_, ok := t.fs.Recording.Function(name)
	return ok
}

// isAnonymous reports whether a mapping's name, from maps or an MMAP2 record, means memory
// without a file.
func isAnonymous(name string) bool {
	for _, prefix := range [...]string{"//anon", "[anon:", "[anon_shmem:", "/dev/zero", "/anon_hugepage", "/SYSV"} {
		if strings.HasPrefix(name, prefix) {
			return true
		}
	}
	return false
}

// anonymous returns the object of all of a process's memory without files.
func (t *Table) anonymous(p *Process) *Object {
	if p.anon == nil {
		p.anon = &Object{Kind: Anon, Path: "[anon]", PID: p.PID, owner: p}
	}
	return p.anon
}

// special returns the object of memory that is known by its name. All processes share it.
func (t *Table) special(kind Kind, name string) *Object {
	k := key{name: name}
	if o := t.byKey[k]; o != nil {
		return o
	}
	return t.enter(k, &Object{Kind: kind, Path: name})
}

// fileObject returns the object of a mapped file, and tries to open the file.
func (t *Table) fileObject(p *Process, s *seenMapping) *Object {
	k := key{id: s.id}
	switch {
	case len(s.build) > 0:
		k = key{build: string(s.build)}
	case s.id.inode == 0:
		k = key{name: string(s.path)}
	}
	o := t.byKey[k]
	if o != nil && o.generation != 0 && s.generation != 0 && o.generation != s.generation {
		t.forget(k) // the inode number belongs to another file now
		o = nil
	}
	if o == nil {
		o = t.enter(k, &Object{Kind: File, Path: string(s.path), deleted: s.deleted})
		if o == t.overflow {
			return o
		}
	}
	if s.generation != 0 {
		o.generation = s.generation
	}
	if o.file == nil && o.tries < maxTries {
		return t.openObject(o, p, s)
	}
	return o
}

// enter stores an object under its key.
func (t *Table) enter(k key, o *Object) *Object {
	cost := objectCost(o)
	if t.bytes+cost > maxObjectBytes {
		if t.overflow == nil {
			t.overflow = &Object{Kind: Special, Path: "[too many files]"}
		}
		return t.overflow
	}
	t.bytes += cost
	o.key = k
	t.byKey[k] = o
	return o
}

// forget removes a key.
func (t *Table) forget(k key) {
	if o := t.byKey[k]; o != nil && o.key == k {
		t.bytes -= objectCost(o)
	}
	delete(t.byKey, k)
}

// objectCost estimates the bytes an object takes.
func objectCost(o *Object) int { return 512 + 2*len(o.Path) }
