package stack

import (
	"github.com/ringtap/ringtap/callchain"
	"github.com/ringtap/ringtap/internal/process"
	"github.com/ringtap/ringtap/internal/runtimes/interp"
)

// StackSwitch is the word of callchain.MarkSwitch.
const StackSwitch = "[stack switch]"

// truncated is the word of Store.Truncated.
const truncated = "[truncated]"

// Function returns what a frame shows that is not code: a function of a runtime; or a word, whose
// Runtime is "". It returns false for code.
func (s *Store) Function(f callchain.Frame) (Function, bool) {
	switch {
	case f.Object == Functions && f.Offset < uint64(len(s.runtimes.all)):
		return s.runtimes.all[f.Offset], true
	case f.Object == Labels && f.Offset < uint64(len(s.words.all)):
		return wordFunction(s.words.all[f.Offset]), true
	case f.Object == callchain.Marks:
		return wordFunction(StackSwitch), true
	}
	return Function{}, false
}

// wordFunction returns a word as a Function.
func wordFunction(text string) Function {
	return Function{Level: interp.Level{Frame: interp.Frame{Function: text}}}
}

// Truncated returns the frame that is the outermost one of a recorded stack that is cut short.
func (s *Store) Truncated() callchain.Frame { return s.words.frame(truncated) }

// recorded replaces the frames of a recorded stack that the recorder mapped as functions, by those that a
// live stack has: see process.Recording.Function. It works in place.
func (s *Store) recorded(from *process.Recording, frames []callchain.Frame, end callchain.End) ([]callchain.Frame, callchain.End) {
	objects, kept := s.processes.Objects(), frames[:0]
	for _, f := range frames {
		object := objects[f.Object]
		if object == nil || object.Kind != process.Function {
			kept = append(kept, f)
			continue
		}
		of, ok := from.Function(object.Path)
		switch {
		case !ok:
			kept = append(kept, f)
		case of.Runtime != "":
			level := interp.Level{Frame: interp.Frame{Function: of.Name, File: of.File, Line: int(f.Offset)}}
			if named, ok := s.runtimes.frame(Function{Level: level, Runtime: of.Runtime}); ok {
				kept = append(kept, named)
			}
		case of.Name == truncated:
			end = callchain.Cut
		case of.Name == StackSwitch:
			kept = append(kept, callchain.Frame{Object: callchain.Marks, Offset: callchain.MarkSwitch})
		default:
			kept = append(kept, s.words.frame(of.Name))
		}
	}
	return kept, end
}
