package record

import (
	"golang.org/x/sys/unix"

	"github.com/ringtap/ringtap/callchain"
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
	describe func(callchain.Frame) (stack.Function, bool) // stack.Store.Function
	places   map[callchain.Frame]uint64                   // the addresses that frames have
	index    map[string]int                               // in tables, by path
	tables   []perfdata.SymbolTable                       // one per function
	mapped   map[mappedFunction]struct{}
}

// mappedFunction is a function that the recording has mapped in a process.
type mappedFunction struct {
	process int
	begin   uint64
}

func newFunctions(describe func(callchain.Frame) (stack.Function, bool)) functions {
	return functions{describe: describe, places: make(map[callchain.Frame]uint64), index: make(map[string]int), mapped: make(map[mappedFunction]struct{})}
}

// address returns the address of a frame that is not code. If the recording has not mapped it in the
// process yet, write gets the mapping, with the time of the sample. It returns 0 if there are too many
// functions.
func (f *functions) address(p *process.Process, frame callchain.Frame, sample *perfevent.Sample, write func(perfevent.Record) error) (uint64, error) {
	address, known := f.places[frame]
	if !known {
		address = f.place(frame)
		f.places[frame] = address
	}
	m := mappedFunction{p.Index, address &^ (functionBytes - 1)}
	if _, mapped := f.mapped[m]; mapped || address == 0 {
		return address, nil
	}
	if len(f.mapped) == maxMapped {
		clear(f.mapped) // they are mapped again, at the same addresses
	}
	f.mapped[m] = struct{}{}
	path := f.tables[(m.begin-perfdata.FunctionsBegin)/functionBytes].Path
	return address, write(&perfevent.Mmap{
		Header: perfevent.Header{Type: unix.PERF_RECORD_MMAP2, Misc: unix.PERF_RECORD_MISC_USER, Time: sample.Time, CPU: sample.CPU, TID: sample.TID, PID: sample.PID},
		PID:    sample.PID, TID: sample.TID, Addr: m.begin, Len: functionBytes, Prot: unix.PROT_READ | unix.PROT_EXEC, Filename: []byte(path)})
}

// place gives a frame an address: its function's, plus the line. It returns 0 if there are too many
// functions.
func (f *functions) place(frame callchain.Frame) uint64 {
	of, ok := f.describe(frame)
	if !ok {
		return 0
	}
	path := perfdata.FunctionPath(of.Runtime, of.File, of.Function)
	i, known := f.index[path]
	if !known {
		if i = len(f.tables); i == maxFunctions {
			return 0
		}
		f.index[path] = i
		f.tables = append(f.tables, perfdata.SymbolTable{Path: path, Kind: perfdata.RuntimeSymbols, Runtime: of.Runtime, Source: of.File,
			Symbols: []perfdata.Symbol{{Size: functionBytes, Name: of.Function}}})
	}
	return perfdata.FunctionsBegin + uint64(i)*functionBytes + uint64(min(max(of.Line, 0), functionBytes-2))
}
