package symbols

import (
	"errors"

	"github.com/ringtap/ringtap/internal/object/framerule"
	"github.com/ringtap/ringtap/symbols/dwarfparam"
)

// Value is the result of a path of members; see dwarfparam.Value.
type Value = dwarfparam.Value

// ErrNoVariables is wrapped by File.Value's error if there is no debug information about the
// code.
var ErrNoVariables = errors.New("no debug information about the variables of this code")

// Value finds the value of a path of members that starts at a variable, just before the
// instruction at a file offset runs: see dwarfparam.Evaluate. The error is a
// *dwarfparam.PathError, or wraps ErrNoVariables.
func (f *File) Value(offset uint64, path string) (Value, error) {
	s := &f.lines
	s.once.Do(func() { s.open(f) })
	addr, ok := f.image.Vaddr(offset)
	if s.dwarf == nil || !ok {
		return Value{}, errors.Join(ErrNoVariables, s.err)
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	v, err := dwarfparam.Evaluate(s.dwarf, addr, path, f.frame, dwarfparam.Options{Machine: f.image.Machine, Clone: f.isClone(offset)})
	if err != nil && errors.Is(err, dwarfparam.ErrNoFunction) {
		return Value{}, errors.Join(ErrNoVariables, err)
	}
	return v, err
}

// frame returns the canonical frame address at an instruction as register + offset.
func (f *File) frame(vaddr uint64) (register int, offset int64, err error) {
	rule, err := framerule.Find(f.image, vaddr)
	if debug, debugErr := f.debugImage(); err != nil && debugErr == nil && debug != nil {
		if rule, debugErr = framerule.Find(debug, vaddr); !errors.Is(debugErr, framerule.ErrNone) {
			err = debugErr
		}
	}
	return int(rule.Register), rule.Offset, err
}
