package record

import (
	"github.com/ringtap/ringtap/callchain"
	"github.com/ringtap/ringtap/internal/object/buildid"
	"github.com/ringtap/ringtap/internal/perfdata"
	"github.com/ringtap/ringtap/internal/process"
)

// files collects the build ids of the files in which samples and their callers are. They are read while
// the processes run: a compiler's temporary program is gone a moment later.
type files struct {
	objects map[callchain.ObjectID]*process.Object // of the process table
	seen    []bool                                 // by ID of an object
	looked  map[*process.Object]bool               // by mapped
	known   map[string]bool                        // paths with their build ids
	ids     []perfdata.BuildID
	version uint64 // of the mappings of the process that was looked at last
}

func newFiles(objects map[callchain.ObjectID]*process.Object) files {
	f := files{objects: objects, looked: make(map[*process.Object]bool), known: make(map[string]bool)}
	if id, err := buildid.Kernel(); err == nil {
		f.ids = append(f.ids, perfdata.BuildID{PID: -1, Kernel: true, ID: id, Filename: "[kernel.kallsyms]"})
	}
	return f
}

// haveAll reports whether the files of all frames are known.
func (f *files) haveAll(frames []callchain.Frame) bool {
	for i := range frames {
		if id := frames[i].Object; id < callchain.Marks && (int(id) >= len(f.seen) || !f.seen[id]) {
			return false
		}
	}
	return true
}

// addAll adds the files of frames.
func (f *files) addAll(frames []callchain.Frame) {
	for i := range frames {
		f.add(frames[i].Object)
	}
}

// mapped adds the files that a process has mapped now. It is for samples whose callers are not known.
func (f *files) mapped(p *process.Process) {
	if f.version == p.Version() {
		return
	}
	f.version = p.Version()
	p.Mapped(func(m process.Mapped) bool {
		if !f.looked[m.Object] { // it may have no ID yet
			f.looked[m.Object] = true
			f.read(m.Object)
		}
		return true
	})
}

// add adds the file of an object.
func (f *files) add(id callchain.ObjectID) {
	if id >= callchain.Marks {
		return // no code
	}
	if n := int(id) + 1 - len(f.seen); n > 0 {
		f.seen = append(f.seen, make([]bool, n)...)
	}
	if o := f.objects[id]; !f.seen[id] && o != nil {
		f.seen[id] = true
		f.read(o)
	}
}

// read reads the build id of an object's file.
func (f *files) read(o *process.Object) {
	if o.Kind != process.File && o.Kind != process.VDSO {
		return
	}
	image, size, err := o.Open()
	if err != nil {
		return // a file that cannot be read has no build id for its reader either
	}
	id, err := buildid.Of(image, size)
	if err != nil {
		return
	}
	if key := o.Path + "\x00" + string(id); !f.known[key] {
		f.known[key] = true
		f.ids = append(f.ids, perfdata.BuildID{PID: -1, ID: id, Filename: o.Path})
	}
}
