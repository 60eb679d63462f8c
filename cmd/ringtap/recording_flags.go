package main

import (
	"encoding/hex"
	"fmt"
	"io"
	"math"
	"os"
	"path/filepath"
	"strconv"
	"strings"

	"github.com/spf13/pflag"

	"github.com/ringtap/ringtap/internal/cli/manual"
	"github.com/ringtap/ringtap/internal/engine/recording"
	"github.com/ringtap/ringtap/internal/object/buildid"
	"github.com/ringtap/ringtap/internal/perfdata"
	"github.com/ringtap/ringtap/internal/stack/symbolize/recordedkernel"
	"github.com/ringtap/ringtap/perfevent"
	"github.com/ringtap/ringtap/symbols"
)

// recordingFlags are the flags of commands that read a recording.
type recordingFlags struct {
	input  string
	symfs  string
	pids   []int
	tids   []int
	cpus   string // a list: 0-3,5
	within string // FROM,TO
	keep   recording.Keep
}

func (r *recordingFlags) add(flags *pflag.FlagSet) {
	flags.StringVarP(&r.input, "input", "i", "", "read `FILE`, which may also be given without this option")
	r.addSymfs(flags)
	flags.IntSliceVarP(&r.pids, "pid", "p", nil, "only processes `PID` (may be repeated, or a list: 1,2)")
	flags.IntSliceVarP(&r.tids, "tid", "t", nil, "only thread `TID` (may be repeated, or a list: 1,2)")
	flags.StringVarP(&r.cpus, "cpu", "C", "", "only the processor `CPU` (or a list: 0-3,5)")
	flags.StringVar(&r.within, "time", "", "only samples in the time `FROM,TO`, in seconds as perf script prints them; either may be missing")
	manual.SetGroup(flags, targetGroup)
}

// defaultRecording is the file that perf record writes.
const defaultRecording = "perf.data"

// addSymfs defines the flag of where recorded files are.
func (r *recordingFlags) addSymfs(flags *pflag.FlagSet) {
	flags.StringVar(&r.symfs, "symfs", "", "look for recorded files below `DIRECTORY` first")
	manual.SetGroup(flags, targetGroup)
}

// take returns the file that the arguments name.
func (r *recordingFlags) take(args []string) (path string, err error) {
	switch {
	case len(args) > 1:
		return "", usagef("unexpected argument %q: one file", args[1])
	case len(args) == 1 && r.input != "":
		return "", usagef("two files, %s and %s", r.input, args[0])
	case len(args) == 1:
		path = args[0]
	case r.input != "":
		path = r.input
	default:
		path = defaultRecording
	}
	r.keep = recording.Keep{PIDs: r.pids, TIDs: r.tids}
	if r.cpus != "" {
		if r.keep.CPUs, err = perfevent.ParseCPUs(r.cpus); err != nil {
			return "", usagef("--cpu %q: want CPUs such as 0-3,5", r.cpus)
		}
	}
	if r.keep.From, r.keep.To, err = parseSpan(r.within); err != nil {
		return "", err
	}
	return path, r.checkSymfs()
}

// checkSymfs returns an error if --symfs names no directory.
func (r *recordingFlags) checkSymfs() error {
	if r.symfs == "" {
		return nil
	}
	if info, err := os.Stat(r.symfs); err != nil || !info.IsDir() {
		return usagef("--symfs %s: no such directory", r.symfs)
	}
	return nil
}

// selecting returns the first option given that selects samples, or "".
func (r *recordingFlags) selecting() string {
	switch {
	case r.pids != nil:
		return "--pid"
	case r.tids != nil:
		return "--tid"
	case r.cpus != "":
		return "--cpu"
	case r.within != "":
		return "--time"
	}
	return ""
}

// parseSpan parses FROM,TO in seconds and returns nanoseconds.
func parseSpan(text string) (from, to uint64, err error) {
	if text == "" {
		return 0, 0, nil
	}
	first, last, ok := strings.Cut(text, ",")
	if !ok {
		return 0, 0, usagef("--time %q: want FROM,TO in seconds, such as 5000.5,5003", text)
	}
	if from, err = parseStamp(first); err == nil {
		to, err = parseStamp(last)
	}
	switch {
	case err != nil:
		return 0, 0, usagef("--time %q: %w", text, err)
	case last != "" && to <= from:
		return 0, 0, usagef("--time %q: it ends before it begins", text)
	}
	return from, to, nil
}

// parseStamp parses a time in seconds and returns nanoseconds; "" is 0.
func parseStamp(text string) (uint64, error) {
	if text == "" {
		return 0, nil
	}
	seconds, err := strconv.ParseFloat(text, 64)
	if err != nil || !(seconds >= 0 && seconds < math.MaxInt64/1e9) {
		return 0, fmt.Errorf("%q is no time in seconds", text)
	}
	return uint64(math.Round(seconds * 1e9)), nil
}

// files returns where files of the recording may be.
func (r *recordingFlags) files() buildid.Files {
	files := buildid.Default(os.Getenv)
	files.Symfs = r.symfs
	return files
}

// kallsyms opens the symbols of the recorded kernel.
func (r *recordingFlags) kallsyms(k recording.Kernel) (io.ReadCloser, error) {
	return recordedKernel(k).Open(r.files())
}

func recordedKernel(k recording.Kernel) *recordedkernel.Kernel {
	return &recordedkernel.Kernel{BuildID: k.BuildID, Symbol: k.Symbol, Address: k.Address, Modules: k.Modules}
}

// debugFiles opens separate debug files: see symbols.Options. Those that are named by a build id are
// looked for in all caches.
func (r *recordingFlags) debugFiles(path string) (symbols.ReaderAtCloser, int64, error) {
	dir, name := filepath.Split(strings.TrimSuffix(path, ".debug"))
	if parent, first := filepath.Split(filepath.Clean(dir)); filepath.Base(parent) == ".build-id" {
		if id, err := hex.DecodeString(first + name); err == nil {
			return opened(r.files().Debug(id))
		}
	}
	return symbols.DebugFiles(r.symfs)(path)
}

// opened returns a file and its size.
func opened(f *os.File, err error) (symbols.ReaderAtCloser, int64, error) {
	if err != nil {
		return nil, 0, err
	}
	info, err := f.Stat()
	if err != nil {
		f.Close()
		return nil, 0, err
	}
	return f, info.Size(), nil
}

// damageNotes returns what is wrong with a recording that was read up to its end.
func damageNotes(file *perfdata.File, source *recording.Source) (notes []string) {
	if file.Problem != nil {
		notes = append(notes, file.Problem.Error())
	}
	if source.Cut() {
		notes = append(notes, "the recorder was killed, or the file cut off: this is what it had written")
	}
	return notes
}

// recordingNotes returns how many records the recorder lost, the notes of the account, and damageNotes.
// Reports have the losses in their accounts.
func recordingNotes(file *perfdata.File, source *recording.Source, lost uint64, account []string) (notes []string) {
	if lost > 0 {
		notes = append(notes, fmt.Sprintf("the recorder lost %d records", lost))
	}
	return append(append(notes, account...), damageNotes(file, source)...)
}
