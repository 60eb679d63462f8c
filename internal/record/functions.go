package record

import (
	"golang.org/x/sys/unix"

	"github.com/ringtap/ringtap/internal/perfdata"
	"github.com/ringtap/ringtap/internal/process"
	"github.com/ringtap/ringtap/internal/stack"
	"github.com/ringtap/ringtap/perfevent"
)

// A callchain has addresses, but functions of Python, Java and other runtimes have none that lasts. The
// recording gives each its own: it is mapped, in every process that calls it, at
// perfdata.FunctionsBegin and above. The offset in the mapping is the source line. The mapping's path
// names the function, so that tools that know nothing of all this show it as the frame's object.
const functionBytes = 1 << 24 // more than a file has lines

// Bounds on what functions remembers: of distinct functions, and of the processes that have them mapped.
const (
	maxFunctions = 1 << 18
	maxMapped    = 1 << 20
)

// functions are the frames of stacks that are not code: functions of runtimes, and words of ringtap's
// own, such as "[stack switch]".
type functions struct {
	index  map[string]int         // in tables, by path
	tables []perfdata.SymbolTable // one per function
	mapped map[mappedFunction]struct{}
}

// mappedFunction is a function that the recording has mapped in a process.
type mappedFunction struct{ process, function int }

func newFunctions() functions {
	return functions{index: make(map[string]int), mapped: make(map[mappedFunction]struct{})}
}

// address returns the address of a function in a process. If the recording has no mapping for it yet,
// write gets one with the time of the sample. It returns 0 if there are too many functions.
func (f *functions) address(p *process.Process, of *stack.Function, sample *perfevent.Sample, write func(perfevent.Record) error) (uint64, error) {
	path := perfdata.FunctionPath(of.Runtime, of.File, of.Function)
	i, known := f.index[path]
	if !known {
		if i = len(f.tables); i == maxFunctions {
			return 0, nil
		}
		f.index[path] = i
		f.tables = append(f.tables, perfdata.SymbolTable{Path: path, Kind: perfdata.RuntimeSymbols, Runtime: of.Runtime, Source: of.File,
			Symbols: []perfdata.Symbol{{Size: functionBytes, Name: of.Function}}})
	}
	begin := uint64(perfdata.FunctionsBegin + i*functionBytes)
	line := uint64(min(max(of.Line, 0), functionBytes-2))
	m := mappedFunction{p.Index, i}
	if _, mapped := f.mapped[m]; mapped {
		return begin + line, nil
	}
	if len(f.mapped) == maxMapped {
		clear(f.mapped) // they are mapped again, at the same addresses
	}
	f.mapped[m] = struct{}{}
	return begin + line, write(&perfevent.Mmap{
		Header: perfevent.Header{Type: unix.PERF_RECORD_MMAP2, Misc: unix.PERF_RECORD_MISC_USER, Time: sample.Time, CPU: sample.CPU, TID: sample.TID, PID: sample.PID},
		PID:    sample.PID, TID: sample.TID, Addr: begin, Len: functionBytes, Prot: unix.PROT_READ | unix.PROT_EXEC, Filename: []byte(path)})
}
