package symbolize

import (
	"sync"

	"github.com/ringtap/ringtap/callchain"
	"github.com/ringtap/ringtap/internal/profile"
	"github.com/ringtap/ringtap/internal/stack"
	"github.com/ringtap/ringtap/symbols"
)

// build is the making of one profile.
type build struct {
	symbolizer *Symbolizer
	set        *stack.Set
	profile    *profile.Profile

	frames  map[callchain.Frame]int // index in profile.Frames
	objects map[objectKey]int       // index in profile.Objects
	maps    map[callchain.ObjectID]*symbols.PerfMap
}

// objectKey identifies an object of a profile. A module of the kernel is an object of its own. All
// generated code of a process is one object, although the process table has an object for each code
// that has taken the place of other code.
type objectKey struct {
	id     callchain.ObjectID
	module string
	pid    int // of generated code
}

// stacks fills in Stacks, Frames and Objects.
func (b *build) stacks(progress func(done, all int)) {
	all := b.prepare()
	b.profile.Stacks = make([]profile.Stack, len(b.set.Stacks))
	for i, stack := range b.set.Stacks {
		frames := make([]int, len(stack.Frames))
		for j, f := range stack.Frames {
			// A profile's stacks read root to leaf.
			frames[len(frames)-1-j] = b.frame(f)
		}
		b.profile.Stacks[i] = profile.Stack{Frames: frames, Truncated: stack.Truncated}
		progress(len(b.profile.Frames), all)
	}
}

// prepare has the kernel's symbols and each file look up at once those of their frames
// that are new. It returns
// the number of distinct frames of all kinds.
func (b *build) prepare() int {
	seen := make(map[callchain.Frame]struct{})
	places := make(map[callchain.ObjectID][]callchain.Frame)
	var kernel []uint64
	for _, stack := range b.set.Stacks {
		for _, f := range stack.Frames {
			if _, ok := seen[f]; ok {
				continue
			}
			seen[f] = struct{}{}
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
	}
	// The kernel takes its time to write its symbols.
	var kallsyms sync.WaitGroup
	kallsyms.Go(func() { b.symbolizer.kernel.prepare(b.symbolizer.opts.Host, kernel) })
	b.symbolizer.nameAll(places, b.set.Images)
	kallsyms.Wait()
	return len(seen)
}

// frame returns the index of a frame, which is named the first time.
func (b *build) frame(f callchain.Frame) int {
	i, ok := b.frames[f]
	if !ok {
		i = len(b.profile.Frames)
		b.frames[f] = i
		b.profile.Frames = append(b.profile.Frames, b.name(f))
	}
	return i
}

// object returns the index of an object and makes it the first time.
func (b *build) object(k objectKey, describe func() profile.Object) int {
	i, ok := b.objects[k]
	if !ok {
		i = len(b.profile.Objects)
		b.objects[k] = i
		b.profile.Objects = append(b.profile.Objects, describe())
	}
	return i
}
