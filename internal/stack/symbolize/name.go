package symbolize

import (
	"fmt"
	"path"
	"strings"

	"github.com/ringtap/ringtap/callchain"
	"github.com/ringtap/ringtap/internal/process"
	"github.com/ringtap/ringtap/internal/profile"
	"github.com/ringtap/ringtap/internal/stack"
	"github.com/ringtap/ringtap/symbols"
)

// name names a frame.
func (b *build) name(f callchain.Frame) profile.Frame {
	if f.Object == callchain.Kernel {
		return b.kernelFrame(f)
	}
	if f.Object == stack.Labels {
		return b.label(f)
	}
	if f.Object == stack.Functions {
		return b.function(f)
	}
	if f.Object == callchain.Marks {
		return b.mark(f)
	}
	image := b.set.Images[f.Object]
	if !hasFile(image.Kind) {
		return b.memoryFrame(f, image)
	}
	return b.fileFrame(f, image)
}

// label returns the frame of a label.
func (b *build) label(f callchain.Frame) profile.Frame {
	word := b.set.Labels[f.Offset]
	return profile.Frame{Name: word, RawName: word, Object: b.object(objectKey{id: f.Object}, func() profile.Object {
		return profile.Object{Path: "[labels]", Labels: true, HasFunctions: true}
	})}
}

// mark returns the frame of a mark.
func (b *build) mark(f callchain.Frame) profile.Frame {
	return profile.Frame{Name: stack.StackSwitch, RawName: stack.StackSwitch, Object: b.object(objectKey{id: f.Object}, func() profile.Object {
		return profile.Object{Path: "[marks]", Labels: true, Marks: true, HasFunctions: true}
	})}
}

// function returns the frame of a runtime's function.
func (b *build) function(f callchain.Frame) profile.Frame {
	if f.Offset >= uint64(len(b.set.Functions)) {
		return profile.Frame{}
	}
	of := &b.set.Functions[f.Offset]
	object := b.object(objectKey{id: f.Object, module: of.Runtime}, func() profile.Object {
		return profile.Object{Path: "[" + of.Runtime + "]", Runtime: of.Runtime, HasFunctions: true, HasLines: true}
	})
	frame := profile.Frame{Object: object, Address: of.Offset, Name: of.Function, RawName: of.Function, Offset: of.Offset}
	if of.File != "" { // no extra cost
		frame.Lines = []profile.Line{{Function: of.Function, File: of.File, Line: of.Line}}
	}
	return frame
}

// fileFrame names a frame in an ELF file. The symbolizer remembers the name.
func (b *build) fileFrame(f callchain.Frame, image *stack.Image) profile.Frame {
	if b.symbolizer.late {
		return b.lateFrame(f, image)
	}
	from := b.symbolizer.source(f.Object, image)
	object := b.object(objectKey{id: f.Object}, func() profile.Object { return from.object })
	frame, ok := b.symbolizer.cache[f]
	if !ok {
		frame = b.symbolizer.lookUp(b.symbolizer.file(from, image), image.Path, f)
		b.symbolizer.cache[f] = frame
	}
	frame.Object = object
	if frame.Name != "" {
		b.profile.Objects[object].HasFunctions = true // perhaps by the recording's own symbols
	}
	if len(frame.Lines) > 0 {
		b.profile.Objects[object].HasLines, b.profile.Objects[object].HasInlines = true, true
	}
	return frame
}

// lateFrame returns a frame in a file that is not read any more. It has the name from an earlier
// profile, or none.
func (b *build) lateFrame(f callchain.Frame, image *stack.Image) profile.Frame {
	frame, ok := b.symbolizer.cache[f]
	if !ok {
		frame = profile.Frame{Address: f.Offset, Return: f.Return}
	}
	frame.Object = b.object(objectKey{id: f.Object}, func() profile.Object {
		return profile.Object{Path: image.Path, HasFunctions: true}
	})
	return frame
}

// kernelFrame names an address of the kernel or of one of its modules.
func (b *build) kernelFrame(f callchain.Frame) profile.Frame {
	frame := profile.Frame{Address: f.Offset, Return: f.Return}
	symbol, ok := b.symbolizer.kernel.lookUp(f.Offset)
	if !ok {
		return frame
	}
	b.symbolizer.named(&frame, symbol)
	if symbol.Module != "" {
		frame.Object = b.object(objectKey{module: symbol.Module}, func() profile.Object {
			return profile.Object{Path: "[" + symbol.Module + "]", Kernel: true, HasFunctions: true}
		})
	}
	return frame
}

// memoryFrame names code that is not in a file. Generated code is named by its perf map.
func (b *build) memoryFrame(f callchain.Frame, image *stack.Image) profile.Frame {
	m, read := b.maps[f.Object]
	if !read && image.PerfMap != nil {
		m = b.symbolizer.perfMap(f, image)
		b.maps[f.Object] = m
	}
	key := objectKey{id: f.Object}
	if image.Kind == process.Anon {
		key = objectKey{pid: image.PID}
	}
	frame := profile.Frame{Address: f.Offset, Return: f.Return, Object: b.object(key, func() profile.Object {
		return profile.Object{Path: image.Path, HasFunctions: image.Kind != process.Anon}
	})}
	if m != nil {
		b.profile.Objects[frame.Object].HasFunctions = true
	}
	if image.Kind == process.Special && image.Path == "[uprobes]" {
		b.symbolizer.named(&frame, uprobes(f.Offset))
	}
	if m == nil {
		if image.Kind == process.Anon {
			b.symbolizer.recorded(&frame, process.GeneratedCode(image.PID))
		}
		return frame
	}
	if symbol, ok := m.Lookup(f.Offset); ok {
		b.symbolizer.named(&frame, symbol)
	}
	return frame
}

// uprobes names the code that the kernel puts into a process for probes (kernel/events/uprobes.c):
// the return address of functions with a return probe, and copies of probed instructions. Each has
// a slot of its own.
func uprobes(addr uint64) symbols.Symbol {
	const page, slot = 4096, 128
	symbol := symbols.Symbol{Name: "[uprobe]", Start: addr &^ (slot - 1), Size: slot}
	if addr%page < slot {
		symbol.Name = "[uretprobe]"
	}
	return symbol
}

// lookUp names a frame in a file. object is the path. file is nil if the file can't be read.
func (s *Symbolizer) lookUp(file *symbols.File, object string, f callchain.Frame) profile.Frame {
	frame := profile.Frame{Address: f.Offset, Return: f.Return}
	if file == nil {
		s.recorded(&frame, object)
		return frame
	}
	if symbol, ok := lookUp(file, f.Offset); ok {
		symbol.Name = strings.Clone(symbol.Name) // the original is a part of the string with all names
		s.named(&frame, symbol)
	}
	if s.opts.Lines {
		frame.Lines = s.lines(file, f.Offset)
	}
	if frame.Name == "" && len(frame.Lines) == 0 {
		s.unnamed(&frame, file, object)
	}
	return frame
}

// lookUp finds the function that contains an offset. A symbol without a size does not cover code
// that belongs to something else.
func lookUp(file *symbols.File, offset uint64) (symbols.Symbol, bool) {
	symbol, ok := file.Lookup(offset)
	if ok && (!symbol.Guessed || file.Reaches(symbol.Start, offset)) {
		return symbol, true
	}
	return file.Implied(offset)
}

// signalReturn is the name of the code to which a signal handler returns.
const signalReturn = "[signal]"

// unnamed names a frame whose function has no name: LIBRARY+0xOFFSET, with the function's offset in
// the file. That can be given to a probe.
func (s *Symbolizer) unnamed(frame *profile.Frame, file *symbols.File, object string) {
	code, err := file.Code(frame.PC(), callchain.MaxSignalReturn)
	if err == nil && callchain.IsSignalReturn(file.Machine(), code) {
		s.named(frame, symbols.Symbol{Name: signalReturn, Start: frame.PC()})
		return
	}
	start, _, ok := file.Bounds(frame.Address)
	if !ok {
		return
	}
	name := unnamedAt(object, start)
	s.named(frame, symbols.Symbol{Name: name, Start: start})
	frame.Name, frame.Unnamed = name, true
}

// unnamedAt returns the name of a function that no symbol table names.
func unnamedAt(object string, start uint64) string {
	return fmt.Sprintf("%s+%#x", path.Base(object), start)
}

// recorded names a frame by the symbols that a recording has of an object.
func (s *Symbolizer) recorded(frame *profile.Frame, object string) {
	recording := s.opts.Host.Recording
	if recording == nil || recording.Symbol == nil {
		return
	}
	name, start, size, ok := recording.Symbol(object, frame.Address)
	if !ok {
		return
	}
	s.named(frame, symbols.Symbol{Name: name, Start: start, Size: size})
	if name == unnamedAt(object, start) {
		frame.Name, frame.Unnamed = name, true
	}
}

// noteSplit notes, once per file, that inlined functions are missing.
func (s *Symbolizer) noteSplit(file *symbols.File, object string) {
	if err := file.LinesErr(); err != nil && !s.split[object] {
		s.split[object] = true
		s.notes = append(s.notes, fmt.Sprintf("%s: some inlined functions are not shown: %v", object, err))
	}
}

// lines returns the source lines of an offset. A missing line is only logged, because the function
// is known.
func (s *Symbolizer) lines(file *symbols.File, offset uint64) []profile.Line {
	found, err := file.Lines(offset)
	if err != nil {
		s.opts.Logger.Info("no source lines", "offset", offset, "error", err)
	}
	var lines []profile.Line
	for _, l := range found {
		lines = append(lines, profile.Line{Function: s.opts.Demangle(l.Function), File: l.File, Line: l.Line, Start: l.StartLine})
	}
	return lines
}

// named sets the name of a frame's function.
func (s *Symbolizer) named(frame *profile.Frame, symbol symbols.Symbol) {
	frame.RawName = symbol.Name
	frame.Name = s.opts.Demangle(symbol.Name)
	frame.Start = symbol.Start
	frame.Offset = frame.PC() - symbol.Start
}

// hasFile reports whether frames of such an object are offsets in an ELF image, or have the name of a
// recorded function.
func hasFile(k process.Kind) bool {
	return k == process.File || k == process.VDSO || k == process.Function
}
