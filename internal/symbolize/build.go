package symbolize

import (
	"github.com/ringtap/ringtap/callchain"
	"github.com/ringtap/ringtap/internal/collect"
	"github.com/ringtap/ringtap/internal/process"
	"github.com/ringtap/ringtap/internal/profile"
	"github.com/ringtap/ringtap/symbols"
)

// build is the making of one profile.
type build struct {
	symbolizer *Symbolizer
	window     *collect.Window
	profile    *profile.Profile

	frames  map[callchain.Frame]int // index in profile.Frames
	objects map[objectKey]int       // index in profile.Objects
	maps    map[callchain.ObjectID]*symbols.PerfMap
}

// objectKey names an object of a profile: a module of the kernel is one of its
// own.
type objectKey struct {
	id     callchain.ObjectID
	module string
}

// stacks fills in Stacks, Frames and Objects.
func (b *build) stacks(progress func(done, all int)) {
	all := b.distinct()
	b.profile.Stacks = make([]profile.Stack, len(b.window.Stacks))
	for i, stack := range b.window.Stacks {
		frames := make([]int, len(stack.Frames))
		for j, f := range stack.Frames {
			// A profile's stacks read root to leaf.
			frames[len(frames)-1-j] = b.frame(f)
		}
		b.profile.Stacks[i] = profile.Stack{Frames: frames, Truncated: stack.Truncated}
		if progress != nil {
			progress(len(b.profile.Frames), all)
		}
	}
}

// distinct counts the distinct frames.
func (b *build) distinct() int {
	seen := make(map[callchain.Frame]struct{})
	for _, stack := range b.window.Stacks {
		for _, f := range stack.Frames {
			seen[f] = struct{}{}
		}
	}
	return len(seen)
}

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
func (b *build) object(k objectKey, make func() profile.Object) int {
	i, ok := b.objects[k]
	if !ok {
		i = len(b.profile.Objects)
		b.objects[k] = i
		b.profile.Objects = append(b.profile.Objects, make())
	}
	return i
}

// name symbolizes a frame.
func (b *build) name(f callchain.Frame) profile.Frame {
	if f.Object == callchain.Kernel {
		return b.kernelFrame(f)
	}
	image := b.window.Images[f.Object]
	if !hasFile(image.Kind) {
		return b.memoryFrame(f, image)
	}
	file := b.symbolizer.file(f.Object, image)
	object := b.object(objectKey{id: f.Object}, func() profile.Object {
		o := profile.Object{Path: image.Path, HasFunctions: file != nil}
		if file != nil {
			o.BuildID = file.BuildID()
		}
		return o
	})
	frame, ok := b.symbolizer.cache[f]
	if !ok {
		frame = b.symbolizer.fileFrame(file, f.Offset)
		b.symbolizer.cache[f] = frame
	}
	frame.Object = object
	if len(frame.Lines) > 0 {
		b.profile.Objects[object].HasLines, b.profile.Objects[object].HasInlines = true, true
	}
	return frame
}

func (b *build) kernelFrame(f callchain.Frame) profile.Frame {
	frame := profile.Frame{Address: f.Offset}
	kallsyms := b.symbolizer.kallsyms()
	if kallsyms == nil {
		return frame
	}
	symbol, ok := kallsyms.Lookup(f.Offset)
	if !ok {
		return frame
	}
	named(&frame, symbol)
	if symbol.Module != "" {
		frame.Object = b.object(objectKey{module: symbol.Module}, func() profile.Object {
			return profile.Object{Path: "[" + symbol.Module + "]", Kernel: true, HasFunctions: true}
		})
	}
	return frame
}

// memoryFrame names code that lies in no file: generated code by its perf map.
// A map grows while the process runs, so that it is read for each window.
func (b *build) memoryFrame(f callchain.Frame, image *collect.Image) profile.Frame {
	m, read := b.maps[f.Object]
	if !read && image.PerfMap != nil {
		var err error
		if m, err = symbols.ReadPerfMap(image.PerfMap, 0); err != nil {
			b.symbolizer.opts.Logger.Info("no perf map", "pid", image.PID, "error", err)
		}
		b.maps[f.Object] = m
	}
	frame := profile.Frame{Address: f.Offset, Object: b.object(objectKey{id: f.Object}, func() profile.Object {
		return profile.Object{Path: image.Path, HasFunctions: m != nil || image.Kind != process.Anon}
	})}
	if m == nil {
		return frame
	}
	if symbol, ok := m.Lookup(f.Offset); ok {
		named(&frame, symbol)
	}
	return frame
}

// fileFrame names a place in an ELF file; file is nil where there is none.
func (s *Symbolizer) fileFrame(file *symbols.File, offset uint64) profile.Frame {
	frame := profile.Frame{Address: offset}
	if file == nil {
		return frame
	}
	if symbol, ok := file.Lookup(offset); ok {
		named(&frame, symbol)
	}
	if s.opts.Lines {
		frame.Lines = s.lines(file, offset)
	}
	return frame
}

// lines finds the source lines of a place. A place without any is not worth
// more than a line in the log: its function is known.
func (s *Symbolizer) lines(file *symbols.File, offset uint64) []profile.Line {
	found, err := file.Lines(offset)
	if err != nil {
		s.opts.Logger.Info("no source lines", "offset", offset, "error", err)
	}
	var lines []profile.Line
	for _, l := range found {
		lines = append(lines, profile.Line{Function: symbols.Demangle(l.Function), File: l.File, Line: l.Line, Start: l.StartLine})
	}
	return lines
}

// named gives a frame the name of its function.
func named(frame *profile.Frame, symbol symbols.Symbol) {
	frame.RawName = symbol.Name
	frame.Name = symbols.Demangle(symbol.Name)
	frame.Start = symbol.Start
	frame.Offset = frame.Address - symbol.Start
}
