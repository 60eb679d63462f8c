package symbols

import (
	"errors"

	"github.com/ringtap/ringtap/symbols/dwarfparam"
)

// Param is a parameter of a function; see dwarfparam.Param.
type Param = dwarfparam.Param

// Params returns the parameters of the function that begins at offset, and where
// they are at its first instruction.
func (f *File) Params(offset uint64) ([]Param, error) { return nil, errors.New("not written yet") }
