// Package fuzzing makes fuzz targets spend their time on new inputs.
package fuzzing

import (
	"flag"
	"testing"
)

const tries = "1000x"

// minimizeTime returns the flag that bounds how an input is made smaller.
func minimizeTime() *flag.Flag { return flag.Lookup("test.fuzzminimizetime") }

// Bound bounds how often the fuzzing engine tries to make an input smaller, unless
// the command line does. A target calls it first if its inputs may be more than a
// few hundred bytes.
//
// The engine makes each input that reaches new code smaller. It leaves out each byte and
// each range of bytes in turn, for up to a minute, and tries no new input meanwhile. Even
// a small ELF file has millions of ranges, so without a bound a target tries one new
// input per minute.
func Bound(f testing.TB) {
	f.Helper()
	m := minimizeTime()
	if m.Value.String() != m.DefValue {
		return
	}
	if err := m.Value.Set(tries); err != nil {
		f.Fatal(err)
	}
}
