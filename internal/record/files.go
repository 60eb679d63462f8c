package record

import (
	"github.com/ringtap/ringtap/internal/object/buildid"
	"github.com/ringtap/ringtap/internal/perfdata"
	"github.com/ringtap/ringtap/internal/process"
)

// files collects the build ids of all files in which samples or their callers may lie. They are read
// while the processes run: a compiler's temporary program is gone a moment later.
type files struct {
	seen    map[*process.Object]bool
	known   map[string]bool // paths with their build ids
	ids     []perfdata.BuildID
	index   int // of the process that was looked at last
	version uint64
}

func newFiles() files {
	f := files{seen: make(map[*process.Object]bool), known: make(map[string]bool), index: -1}
	if id, err := buildid.Kernel(); err == nil {
		f.ids = append(f.ids, perfdata.BuildID{PID: -1, Kernel: true, ID: id, Filename: "[kernel.kallsyms]"})
	}
	return f
}

// mapped adds the files that a process has mapped now.
func (f *files) mapped(p *process.Process) {
	if f.index == p.Index && f.version == p.Version() {
		return
	}
	f.index, f.version = p.Index, p.Version()
	p.Mapped(func(m process.Mapped) bool {
		if !f.seen[m.Object] {
			f.seen[m.Object] = true
			f.add(m.Object)
		}
		return true
	})
}

func (f *files) add(o *process.Object) {
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
