package read

import (
	"bytes"
	"errors"
	"fmt"
	"math"
	"strconv"

	"github.com/ringtap/ringtap/internal/profile"
)

// folded reads folded stacks. The first frame of a line becomes the process's name. That is what
// ringtap and stackcollapse-perf.pl write there. For other tools it makes no difference: internal/output
// shows the process as the root frame.
type folded struct {
	b           *builder
	frames      []int
	inlined     []string
	lines, diff int // lines, and how many of them have two values
}

func newFolded() *folded {
	f := &folded{b: newBuilder("folded stacks")}
	f.b.p.Metrics = []profile.Metric{{Name: "Samples", Type: "samples", Unit: "counts", Scale: 1, Running: true}}
	return f
}

// cutValue splits a line at the last blank if a number follows. Further blanks are part of a name, as
// they are for flamegraph.pl.
func cutValue(text []byte) (stack, value []byte, ok bool) {
	text = bytes.TrimRight(text, " \t\r")
	i := bytes.LastIndexAny(text, " \t")
	if i <= 0 || !isNumber(text[i+1:]) {
		return nil, nil, false
	}
	return text[:i], text[i+1:], true
}

// isNumber reports whether text is a number as flamegraph.pl accepts it: digits, which may have a
// decimal point after the first.
func isNumber(text []byte) bool {
	if len(text) == 0 || text[0] < '0' || text[0] > '9' {
		return false
	}
	for _, c := range text {
		if (c < '0' || c > '9') && c != '.' {
			return false
		}
	}
	return true
}

func (f *folded) line(text []byte) error {
	if len(bytes.TrimSpace(text)) == 0 {
		return nil
	}
	stack, digits, ok := cutValue(text)
	if !ok {
		return fmt.Errorf("it is not a stack and a number: %.60q", text)
	}
	value, err := strconv.ParseUint(string(digits), 10, 64)
	if err != nil {
		return fmt.Errorf("the value %.30s is not a whole number below %d", digits, uint64(math.MaxUint64))
	}
	f.lines++
	if _, _, two := cutValue(stack); two {
		f.diff++
	}
	comm, stack, _ := bytes.Cut(stack, []byte(";"))
	f.stack(stack)
	row := f.b.row(f.b.process(profile.Process{Comm: f.b.name(comm)}), f.frames)
	return f.b.count(row, 0, value)
}

// stack sets f.frames to the frames of a stack, root first. A function with the mark _[i] is
// inlined in the one before it.
func (f *folded) stack(text []byte) {
	f.frames = f.frames[:0]
	for len(text) > 0 {
		var name []byte
		name, text, _ = bytes.Cut(text, []byte(";"))
		name, mark := cutMark(name)
		f.inlined = f.inlined[:0]
		for len(text) > 0 {
			inner, rest, _ := bytes.Cut(text, []byte(";"))
			inner, isInlined := bytes.CutSuffix(inner, []byte("_[i]"))
			if !isInlined {
				break
			}
			f.inlined = append(f.inlined, f.b.name(inner))
			text = rest
		}
		f.frames = append(f.frames, f.frame(name, mark))
	}
}

func (f *folded) frame(name []byte, mark byte) int {
	if string(name) == truncatedName && mark == 0 && len(f.inlined) == 0 {
		return cut
	}
	object := 0
	switch mark {
	case 'j':
		object = f.b.object("[jit]")
	case 'k':
	default:
		object = f.b.object("")
	}
	// ringtap writes a frame without a name as its object.
	if file, ok := bytes.CutPrefix(name, []byte("[unknown] (")); ok && bytes.HasSuffix(file, []byte(")")) {
		file = bytes.TrimSuffix(file, []byte(")"))
		if string(file) == "?" {
			file = nil
		}
		of := f.b.object(f.b.name(file))
		if f.b.p.Objects[of].Kernel == (mark == 'k') {
			object, name = of, nil
		}
	}
	return f.b.frame(object, f.b.name(name), 0, 0, f.inlined)
}

// cutMark splits a name from the mark that stackcollapse-perf.pl --all and ringtap append: _[k]
// for the kernel, _[j] for code of a compiler at run time, _[i] for inlined functions. mark is 0 if
// name has no mark.
func cutMark(name []byte) (rest []byte, mark byte) {
	n := len(name) - len("_[k]")
	if n < 0 || name[n] != '_' || name[n+1] != '[' || name[n+3] != ']' || bytes.IndexByte([]byte("kji"), name[n+2]) < 0 {
		return name, 0
	}
	return name[:n], name[n+2]
}

func (f *folded) finish() (*profile.Profile, error) {
	if f.diff == f.lines {
		return nil, errors.New("every line has two values: it is the difference of two profiles (difffolded.pl)")
	}
	return f.b.finish()
}
