package symbolize

import (
	"strings"

	"github.com/ringtap/ringtap/callchain"
	"github.com/ringtap/ringtap/internal/process"
	"github.com/ringtap/ringtap/internal/profile"
	"github.com/ringtap/ringtap/internal/stack"
	"github.com/ringtap/ringtap/symbols"
)

// name symbolizes a frame.
func (b *build) name(f callchain.Frame) profile.Frame {
	if f.Object == callchain.Kernel {
		return b.kernelFrame(f)
	}
	if f.Object == stack.Labels {
		return b.label(f)
	}
	image := b.set.Images[f.Object]
	if !hasFile(image.Kind) {
		return b.memoryFrame(f, image)
	}
	return b.fileFrame(f, image)
}

// label is the word that a frame stands for.
func (b *build) label(f callchain.Frame) profile.Frame {
	word := b.set.Labels[f.Offset]
	return profile.Frame{Name: word, RawName: word, Object: b.object(objectKey{id: f.Object}, func() profile.Object {
		return profile.Object{Path: "[labels]", Labels: true, HasFunctions: true}
	})}
}

// fileFrame names a place in an ELF file, which the symbolizer remembers.
func (b *build) fileFrame(f callchain.Frame, image *stack.Image) profile.Frame {
	from := b.symbolizer.source(f.Object, image)
	object := b.object(objectKey{id: f.Object}, func() profile.Object { return from.object })
	frame, ok := b.symbolizer.cache[f]
	if !ok {
		frame = b.symbolizer.lookUp(b.symbolizer.file(from, image), f.Offset)
		b.symbolizer.cache[f] = frame
	}
	frame.Object = object
	if len(frame.Lines) > 0 {
		b.profile.Objects[object].HasLines, b.profile.Objects[object].HasInlines = true, true
	}
	return frame
}

// kernelFrame names an address of the kernel or of one of its modules.
func (b *build) kernelFrame(f callchain.Frame) profile.Frame {
	frame := profile.Frame{Address: f.Offset}
	symbol, ok := b.symbolizer.kernel.lookUp(f.Offset)
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
func (b *build) memoryFrame(f callchain.Frame, image *stack.Image) profile.Frame {
	m, read := b.maps[f.Object]
	if !read && image.PerfMap != nil {
		m = b.symbolizer.perfMap(f, image)
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

// lookUp names a place in an ELF file; file is nil where it can't be read.
func (s *Symbolizer) lookUp(file *symbols.File, offset uint64) profile.Frame {
	frame := profile.Frame{Address: offset}
	if file == nil {
		return frame
	}
	if symbol, ok := file.Lookup(offset); ok {
		symbol.Name = strings.Clone(symbol.Name) // it is a part of all the file's names
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

// hasFile tells whether the frames of such an object are offsets in an ELF
// image.
func hasFile(k process.Kind) bool { return k == process.File || k == process.VDSO }
