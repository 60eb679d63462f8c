package symbolize

import (
	"sync"

	"github.com/ringtap/ringtap/callchain"
	"github.com/ringtap/ringtap/internal/profile"
	"github.com/ringtap/ringtap/internal/stack"
	"github.com/ringtap/ringtap/symbols"
)

// build has the state while one profile is made.
type build struct {
	symbolizer *Symbolizer
	set        *stack.Set
	profile    *profile.Profile

	objects map[objectKey]int // index in profile.Objects
	maps    map[callchain.ObjectID]*symbols.PerfMap
}

// objectKey identifies an object of a profile. A kernel module is an object of its own. All
// generated code of a process is one object, although the process table makes a new object when
// code replaces other code.
type objectKey struct {
	id     callchain.ObjectID
	module string
	pid    int // if it is generated code
}

// stacks fills in Stacks, Frames and Objects.
func (b *build) stacks(progress func(done, all int)) {
	distinct := b.index()
	b.prepare(distinct)
	b.profile.Frames = make([]profile.Frame, 0, len(distinct))
	for i, f := range distinct {
		b.profile.Frames = append(b.profile.Frames, b.name(f))
		progress(i+1, len(distinct))
	}
}

// index fills in Stacks. It returns the distinct frames, to whose indexes the stacks refer.
func (b *build) index() (distinct []callchain.Frame) {
	total := 0
	for i := range b.set.Stacks {
		total += len(b.set.Stacks[i].Frames)
	}
	paths := make([]int, total)
	indexes := make(map[callchain.Frame]int)
	var recent [1 << 12]struct { // most frames were in a stack just before
		frame callchain.Frame
		index int // from 1; 0: none
	}
	b.profile.Stacks = make([]profile.Stack, len(b.set.Stacks))
	for i := range b.set.Stacks {
		of := &b.set.Stacks[i]
		path := paths[:len(of.Frames):len(of.Frames)]
		paths = paths[len(of.Frames):]
		for j, f := range of.Frames {
			r := &recent[(f.Offset^uint64(f.Object)<<32)*0x9e3779b97f4a7c15>>52]
			if r.index == 0 || r.frame != f {
				at, ok := indexes[f]
				if !ok {
					at = len(distinct)
					indexes[f] = at
					distinct = append(distinct, f)
				}
				r.frame, r.index = f, at+1
			}
			path[len(path)-1-j] = r.index - 1 // a profile's stacks read root to leaf
		}
		b.profile.Stacks[i] = profile.Stack{Frames: path, Truncated: of.Truncated}
	}
	return distinct
}

// prepare looks up the new frames, once per file and for the kernel.
func (b *build) prepare(distinct []callchain.Frame) {
	places := make(map[callchain.ObjectID][]callchain.Frame)
	var kernel []uint64
	for _, f := range distinct {
		if f.Object == callchain.Kernel {
			kernel = append(kernel, f.Offset)
			continue
		}
		if _, named := b.symbolizer.cache[f]; named {
			continue
		}
		if image := b.set.Images[f.Object]; image != nil && hasFile(image.Kind) {
			places[f.Object] = append(places[f.Object], f)
		}
	}
	// The kernel is slow to write its symbols.
	var kallsyms sync.WaitGroup
	kallsyms.Go(func() { b.symbolizer.kernel.prepare(b.symbolizer.opts.Host, kernel) })
	b.symbolizer.nameAll(places, b.set.Images)
	kallsyms.Wait()
}

// object returns the index of an object. The first call for an object adds it.
func (b *build) object(k objectKey, describe func() profile.Object) int {
	i, ok := b.objects[k]
	if !ok {
		i = len(b.profile.Objects)
		b.objects[k] = i
		b.profile.Objects = append(b.profile.Objects, describe())
	}
	return i
}
