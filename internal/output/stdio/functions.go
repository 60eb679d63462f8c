package stdio

import (
	"fmt"
	"path"

	"github.com/ringtap/ringtap/internal/profile"
)

// function is what perf tells apart as a symbol. Its start is part of it: a file may have several
// functions of one name.
type function struct {
	object int // callchains of two files with one name are not merged
	dso    string
	name   string // "" if unknown
	start  uint64 // of the function; if it is unknown, the address itself
	kernel bool
}

// unmapped is the function of samples at addresses that no mapping is known for.
var unmapped = function{object: anyObject, dso: unknownDSO, name: "[unknown]"}

// unknownDSO is perf's name of an object that it does not know.
const unknownDSO = "[unknown]"

// String returns the text of the symbol's cell.
func (f *function) String() string {
	level := '.'
	if f.kernel {
		level = 'k'
	}
	if f.name == "" {
		return fmt.Sprintf("[%c] 0x%016x", level, f.start)
	}
	return fmt.Sprintf("[%c] %s", level, f.name)
}

// inChain returns the text of the function in a callchain.
func (f *function) inChain() string {
	if f.name == "" {
		return fmt.Sprintf("%#x", f.start)
	}
	return f.name
}

// functions has the functions of a profile's frames.
type functions struct {
	all   []function
	index map[function]int
	// entry has for each function the first one that is the same for entries: a file with the same
	// name may have it.
	entry []int
	// frames has the function of each frame of the profile, and -1 for words of the collector.
	frames []int
}

func newFunctions(p *profile.Profile) *functions {
	f := &functions{index: make(map[function]int), frames: make([]int, len(p.Frames))}
	names := dsoNames(p)
	for i := range p.Frames {
		frame := &p.Frames[i]
		object := &p.Objects[frame.Object]
		if object.Labels {
			f.frames[i] = -1
			continue
		}
		of := function{object: frame.Object, dso: names[frame.Object], name: frame.Name, start: frame.Start, kernel: object.Kernel}
		if file, _ := frame.Source(object); file != "" {
			of.dso = path.Base(file) // a runtime has functions of one name in several files
		}
		if of.name == "" {
			of.start = frame.PC()
		}
		f.frames[i] = f.add(of)
	}
	return f
}

// add returns the index of a function.
func (f *functions) add(of function) int {
	i, ok := f.index[of]
	if !ok {
		i = len(f.all)
		f.index[of] = i
		f.all, f.entry = append(f.all, of), append(f.entry, i)
		if of.object != anyObject {
			of.object = anyObject
			first := f.add(of) // may move f.entry
			f.entry[i] = first
		}
	}
	return i
}

// anyObject is the object of a function of an entry.
const anyObject = -1

// dsoNames returns perf's short names of a profile's objects.
func dsoNames(p *profile.Profile) []string {
	names := make([]string, len(p.Objects))
	for i := range p.Objects {
		switch o := &p.Objects[i]; {
		case o.Kernel && o.Path == "[kernel]":
			names[i] = "[kernel.kallsyms]"
		case o.Path == anonymous:
			names[i] = "[JIT]"
		default:
			names[i] = path.Base(o.Path)
		}
	}
	for i := range p.Rows {
		r := &p.Rows[i]
		if r.User == profile.None {
			continue
		}
		for _, f := range p.Stacks[r.User].Frames {
			// All generated code of a process is one object.
			if object := p.Frames[f].Object; names[object] == "[JIT]" {
				names[object] = fmt.Sprintf("[JIT] tid %d", p.Processes[r.Process].NSPID)
			}
		}
	}
	return names
}

// anonymous is the path of memory that has no file.
const anonymous = "[anon]"
