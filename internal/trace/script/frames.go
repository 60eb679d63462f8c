package script

import (
	"fmt"
	"slices"

	"github.com/ringtap/ringtap/callchain"
	"github.com/ringtap/ringtap/internal/process"
	"github.com/ringtap/ringtap/internal/profile"
	"github.com/ringtap/ringtap/internal/stack"
	"github.com/ringtap/ringtap/internal/stack/symbolize"
	"github.com/ringtap/ringtap/internal/text/escape"
	"github.com/ringtap/ringtap/perfevent"
)

// level is a frame of a sample. If ringtap knows no mapping at its address, mapped is false.
type level struct {
	frame   callchain.Frame
	address uint64 // as recorded; only without a mapping
	mapped  bool
}

// key identifies the text of a frame. fields are some of frameFields.
type key struct {
	frame  callchain.Frame
	fields fields
	alone  bool // it is the only one of a sample without a callchain
}

// maxTexts bounds the memory of the frames' texts, in bytes.
const maxTexts = 64 << 20

// textBytes is what a text takes in the map of frames.texts, in addition to its own bytes.
const textBytes = 96

// frames prints the frames of samples. Each distinct frame is named once.
type frames struct {
	processes  *process.Table
	symbolizer *symbolize.Symbolizer
	stacker    *stack.Stacker
	maxStack   int
	levels     []level // of the current sample, leaf first
	texts      map[key][]byte
	size       int // bytes of texts
	recent     []recent
	notes      []string // why names are missing
}

// maxNotes bounds notes.
const maxNotes = 16

// recent remembers the frame at an address of a process.
type recent struct {
	version, address uint64 // version: process.Process.Version; 0: empty
	level            level
}

// recentBits is the logarithm of the number of addresses that are remembered.
const recentBits = 15

func newFrames(processes *process.Table, symbolizer *symbolize.Symbolizer, maxStack int) *frames {
	return &frames{
		processes: processes, symbolizer: symbolizer, maxStack: maxStack,
		stacker: stack.NewStacker(processes.Host(), stack.Stacks{User: true, Kernel: true, Unwind: stack.Auto}),
		texts:   make(map[key][]byte), recent: make([]recent, 1<<recentBits),
	}
}

// chain sets levels to the callchain of a sample. If unwind, the user part is unwound from the
// copied stack.
func (f *frames) chain(sample *perfevent.Sample, unwind bool) {
	f.levels = f.levels[:0]
	kernel, user := callchain.Split(sample.Callchain)
	for i, address := range kernel[:min(len(kernel), f.maxStack)] {
		f.levels = append(f.levels, kernelLevel(address, i > 0))
	}
	if unwind && sample.Regs.ABI != 0 {
		f.unwind(sample)
		return
	}
	// As in perf, the limit holds for both parts together.
	user = user[:min(len(user), f.maxStack-len(f.levels))]
	if len(user) == 0 {
		return
	}
	p := f.processes.Process(int(int32(sample.PID)))
	for i, address := range user {
		f.levels = append(f.levels, f.userLevel(p, address, i > 0))
	}
}

// unwind appends the user frames of a sample that has a copy of the stack. perf prints the address of
// their calls, where it prints the return addresses of a recorded callchain.
func (f *frames) unwind(sample *perfevent.Sample) {
	user, _ := f.stacker.User(f.processes.Process(int(int32(sample.PID))), sample)
	for _, frame := range user[:min(len(user), f.maxStack)] {
		if frame.Object == callchain.Marks {
			continue // not a function: callers are missing here
		}
		frame.Return = false
		f.levels = append(f.levels, level{frame: frame, mapped: true})
	}
}

// leaf sets levels to the place where a sample without a callchain was taken.
func (f *frames) leaf(sample *perfevent.Sample, mode uint16) {
	l := level{address: sample.IP}
	switch mode {
	case modeKernel:
		l = kernelLevel(sample.IP, false)
	case modeUser:
		l = f.userLevel(f.processes.Process(int(int32(sample.PID))), sample.IP, false)
	}
	f.levels = append(f.levels[:0], l)
}

func kernelLevel(address uint64, isReturn bool) level {
	if isReturn {
		address--
	}
	return level{frame: callchain.Frame{Object: callchain.Kernel, Return: isReturn, Offset: address}, mapped: true}
}

// userLevel returns the frame at an address of a process.
func (f *frames) userLevel(p *process.Process, address uint64, isReturn bool) level {
	at := address
	if isReturn {
		at--
	}
	hash := (at ^ p.Version()<<40) * 0x9e3779b97f4a7c15
	r := &f.recent[hash>>(64-recentBits)]
	if r.version == p.Version() && r.address == at && r.level.frame.Return == isReturn && r.version != 0 {
		return r.level
	}
	l := level{address: address}
	if m, ok := p.Find(at); ok {
		l.mapped, l.frame = true, callchain.Frame{Object: m.Object, Return: isReturn, Offset: at - m.Start + m.Offset}
		*r = recent{version: p.Version(), address: at, level: l}
	}
	return l
}

// name makes the texts of the levels that have none yet.
func (f *frames) name(set fields, alone bool) {
	var fresh []callchain.Frame
	for i := range f.levels {
		l := &f.levels[i]
		if !l.mapped {
			continue
		}
		if _, ok := f.texts[key{l.frame, set, alone}]; !ok && !slices.Contains(fresh, l.frame) {
			fresh = append(fresh, l.frame)
		}
	}
	if len(fresh) == 0 {
		return
	}
	images := stack.NewSet([]stack.Stack{{Frames: fresh}}, f.processes.Objects())
	p := f.symbolizer.Profile(&images, nil)
	f.note(p.Notes)
	for i, frame := range fresh {
		named := &p.Frames[p.Stacks[0].Frames[len(fresh)-1-i]] // root first
		dso := p.Objects[named.Object].Path
		image := images.Images[frame.Object]
		switch {
		case frame.Object == callchain.Kernel && dso == "[kernel]":
			dso = "[kernel.kallsyms]"
		case image != nil && image.Kind == process.Anon:
			dso = fmt.Sprintf("/tmp/perf-%d.map", image.PID) // where a just-in-time compiler would have put names
		}
		text := appendFrame(nil, named, escape.Text(dso), set, alone)
		f.texts[key{frame, set, alone}] = text
		f.size += len(text) + textBytes
	}
}

// note keeps notes, each once.
func (f *frames) note(notes []string) {
	for _, note := range notes {
		if len(f.notes) < maxNotes && !slices.Contains(f.notes, note) {
			f.notes = append(f.notes, note)
		}
	}
}

// append appends the text of all levels: a line for each one, or only the rest of the line if there
// is no callchain.
func (f *frames) append(dst []byte, set fields, alone bool) []byte {
	if f.size > maxTexts {
		clear(f.texts)
		f.size = 0
	}
	for i := range f.levels {
		l := &f.levels[i]
		if !l.mapped {
			if !alone {
				dst = appendHex(append(dst, '\t'), l.address)
			}
			dst = appendName(dst, nil, set)
			if set&fieldDSO != 0 {
				dst = append(dst, " ([unknown])"...)
			}
			if !alone {
				dst = append(dst, '\n')
			}
			continue
		}
		text, ok := f.texts[key{l.frame, set, alone}]
		if !ok {
			f.name(set, alone)
			text = f.texts[key{l.frame, set, alone}]
		}
		dst = append(dst, text...)
	}
	return dst
}

// appendFrame appends the text of a frame. If it is alone, its address is not a part of it: the
// heading has that of the sample.
func appendFrame(dst []byte, f *profile.Frame, dso string, set fields, alone bool) []byte {
	if !alone {
		for i := range max(0, len(f.Lines)-1) {
			dst = appendHex(append(dst, '\t'), f.PC())
			if set&fieldSym != 0 {
				dst = append(append(dst, ' '), escape.Text(f.Lines[i].Function)...)
			}
			dst = append(dst, " (inlined)\n"...)
		}
		dst = appendHex(append(dst, '\t'), f.PC())
	}
	dst = appendName(dst, f, set)
	if set&fieldDSO != 0 {
		dst = append(append(append(dst, " ("...), dso...), ')')
	}
	if !alone {
		dst = append(dst, '\n')
	}
	return dst
}

// appendName appends the function of a frame, which is nil if it is unknown.
func appendName(dst []byte, f *profile.Frame, set fields) []byte {
	switch {
	case set&fieldSym == 0:
	case f == nil || f.Name == "" || f.Unnamed:
		dst = append(dst, " [unknown]"...)
	default:
		dst = append(append(dst, ' '), escape.Text(f.Name)...)
		if set&fieldSymOff != 0 {
			dst = fmt.Appendf(dst, "+%#x", f.Offset)
		}
	}
	return dst
}

// appendHex appends an address as %16x prints it.
func appendHex(dst []byte, n uint64) []byte {
	const digits = "0123456789abcdef"
	var b [16]byte
	i := len(b)
	for {
		i--
		b[i] = digits[n&15]
		if n >>= 4; n == 0 {
			break
		}
	}
	for j := range i {
		b[j] = ' '
	}
	return append(dst, b[:]...)
}
