package annotate

import (
	"cmp"
	"slices"
	"strings"
	"sync"

	"github.com/ringtap/ringtap/callchain"
	"github.com/ringtap/ringtap/internal/host/kcore"
	"github.com/ringtap/ringtap/internal/process"
	"github.com/ringtap/ringtap/internal/profile"
	"github.com/ringtap/ringtap/internal/stack"
	"github.com/ringtap/ringtap/internal/stack/symbolize"
	"github.com/ringtap/ringtap/symbols"
)

// function is a function with samples.
type function struct {
	name, raw string // demangled, and as in the symbol table
	start     uint64 // offset in the object, or address: see process.Kind
	id        callchain.ObjectID
	object    profile.Object
	image     *stack.Image
	counts    []Count // by event
	idle      []Count // the part of counts that is in the idle task
	places    map[place]Count
}

// functions are all functions with samples.
type functions struct {
	opts    *Options
	all     []*function
	totals  []Count                              // by event, with samples in no function
	files   map[callchain.ObjectID]*symbols.File // those that file has opened
	lookUps map[lookUp][]uint64                  // results of starts
	kernel  func() (*kernel, error)              // opens the kernel's code, once
	memory  *kcore.Reader                        // of the kernel, if kernel has opened it
}

// functions names the places of the samples. The result needs the process table.
func (s *sink) functions(symbolizer *symbolize.Symbolizer, o *Options) *functions {
	var frames []callchain.Frame
	seen := make(map[callchain.Frame]int)
	for p := range s.counts {
		if _, ok := seen[p.frame]; !ok {
			seen[p.frame] = len(frames)
			frames = append(frames, p.frame)
		}
	}
	f := &functions{opts: o, totals: s.totals, files: make(map[callchain.ObjectID]*symbols.File), lookUps: make(map[lookUp][]uint64)}
	f.kernel = sync.OnceValues(func() (*kernel, error) {
		k, err := openKernel(o)
		if err == nil {
			f.memory = k.memory
		}
		return k, err
	})
	if len(frames) == 0 {
		return f
	}
	set := stack.NewSet([]stack.Stack{{Frames: frames}}, s.processes.Objects())
	named := symbolizer.Profile(&set, nil)
	type key struct {
		object int
		start  uint64
		name   string
	}
	byKey := make(map[key]*function)
	for p, count := range s.counts {
		frame := &named.Frames[named.Stacks[0].Frames[len(frames)-1-seen[p.frame]]] // root first
		if frame.Name == "" {
			continue
		}
		k := key{frame.Object, frame.Start, frame.Name}
		fn := byKey[k]
		if fn == nil {
			fn = &function{name: frame.Name, raw: frame.RawName, start: frame.Start, id: p.frame.Object, object: named.Objects[frame.Object],
				image: set.Images[p.frame.Object], counts: make([]Count, len(s.totals)), idle: make([]Count, len(s.totals)), places: make(map[place]Count)}
			byKey[k] = fn
			f.all = append(f.all, fn)
		}
		fn.counts[p.event].add(count)
		if p.idle {
			fn.idle[p.event].add(count)
		}
		fn.places[p] = count
	}
	return f
}

// byEvent returns the functions with samples of an event, the hottest first.
func (f *functions) byEvent(event int) []*function {
	var found []*function
	for _, fn := range f.all {
		if fn.counts[event].Samples > 0 {
			found = append(found, fn)
		}
	}
	slices.SortFunc(found, func(a, b *function) int {
		x, y := a.counts[event], b.counts[event]
		return cmp.Or(cmp.Compare(y.Period, x.Period), cmp.Compare(y.Samples, x.Samples),
			cmp.Compare(a.name, b.name), cmp.Compare(a.object.Path, b.object.Path), cmp.Compare(a.start, b.start))
	})
	return found
}

// hasFile reports whether the function's code is in an ELF image.
func (fn *function) hasFile() bool {
	return fn.image != nil && (fn.image.Kind == process.File || fn.image.Kind == process.VDSO)
}

// fullName returns the name with the parameters of C++, which tell overloads apart.
func (fn *function) fullName() string {
	if fn.raw == "" {
		return fn.name
	}
	return symbols.DemangleParams(fn.raw)
}

// shortName returns the name without template arguments and without the compiler's suffix for a
// function that it has changed.
func (fn *function) shortName() string {
	name := fn.name
	if fn.image != nil && fn.image.Kind == process.Function {
		return name
	}
	if fn.raw != "" {
		name = symbols.DemangleShort(fn.raw)
	}
	for _, suffix := range []string{".isra.", ".constprop."} {
		name, _, _ = strings.Cut(name, suffix)
	}
	return name
}

// file opens the file of a function that has one. It belongs to f.
func (f *functions) file(fn *function) (*symbols.File, error) {
	if file := f.files[fn.id]; file != nil {
		return file, nil
	}
	if fn.image.Code == nil {
		return nil, fn.image.Err
	}
	debugFiles := f.opts.DebugFiles
	if debugFiles == nil {
		debugFiles = symbols.DebugFiles("")
	}
	file, err := symbols.Open(fn.image.Code, fn.image.Size, symbols.Options{Path: fn.image.Path, Open: debugFiles})
	if err == nil {
		f.files[fn.id] = file
	}
	return file, err
}

// close closes the debug files and the kernel's memory, which were only read.
func (f *functions) close() {
	for _, file := range f.files {
		file.Close()
	}
	if f.memory != nil {
		f.memory.Close()
	}
}
