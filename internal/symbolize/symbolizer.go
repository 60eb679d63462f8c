package symbolize

import (
	"errors"
	"fmt"
	"log/slog"
	"slices"

	"github.com/ringtap/ringtap/callchain"
	"github.com/ringtap/ringtap/internal/process"
	"github.com/ringtap/ringtap/internal/profile"
	"github.com/ringtap/ringtap/internal/stack"
	"github.com/ringtap/ringtap/symbols"
)

// Options says how names are found.
type Options struct {
	Lines         bool // source lines and inlined functions too
	CachePerfMaps bool // sets are small and many: perf maps are not read for each
	// Demangle makes the names of functions from their symbols; nil is symbols.Demangle.
	Demangle func(string) string
	// Late is closed when names are not worth waiting for any more; nil: they always are.
	Late <-chan struct{}
	Host process.Host // has the kernel's symbols
	// DebugFiles opens separate debug files (see symbols.Options.Open). If nil, the Symbolizer
	// opens the files that are installed on this machine.
	DebugFiles func(path string) (symbols.ReaderAtCloser, int64, error)
	// Memory bounds the bytes that unpacking a file's symbols may take; 0 leaves that to
	// package symbols.
	Memory int
	Logger *slog.Logger // is told why things have no names; nil discards
}

// maxCached bounds the frames that are remembered between profiles, maxFiles the files
// and maxLoaded the bytes of those whose symbols are, which take some twentieth of
// that: on a host that builds, thousands of programs run once.
const (
	maxCached = 1 << 18
	maxFiles  = 1 << 10
	maxLoaded = 1 << 30

	maxSkipped = 10 // files whose skipped symbols a run tells of
)

// Symbolizer gives frames their names, those of one run: an ObjectID must name
// the same object in all sets. It belongs to one goroutine.
type Symbolizer struct {
	opts   Options
	files  map[callchain.ObjectID]*source
	loaded int64                             // bytes of the files whose symbols are in memory
	calls  uint64                            // of Profile
	cache  map[callchain.Frame]profile.Frame // of files; Object depends on the profile and is not kept
	maps   map[callchain.ObjectID]perfMap    // of Options.CachePerfMaps

	kernel kernelNames

	late    bool            // files are not read any more: a goroutine that was not waited for still reads them
	notes   []string        // for the next profile
	split   map[string]bool // paths of files that noteSplit has noted
	skipped int             // files that have had a note
}

// New makes a Symbolizer that has read nothing yet.
func New(opts Options) *Symbolizer {
	if opts.Logger == nil {
		opts.Logger = slog.New(slog.DiscardHandler)
	}
	if opts.Demangle == nil {
		opts.Demangle = symbols.Demangle
	}
	if opts.DebugFiles == nil {
		opts.DebugFiles = symbols.DebugFiles("")
	}
	return &Symbolizer{
		opts:  opts,
		files: make(map[callchain.ObjectID]*source),
		cache: make(map[callchain.Frame]profile.Frame),
		maps:  make(map[callchain.ObjectID]perfMap),
		split: make(map[string]bool),
	}
}

// ReadAhead has the kernel's symbols read beside what else is done, for the next Profile.
func (s *Symbolizer) ReadAhead() { s.kernel.ahead = readAhead(s.opts.Host) }

// Profile makes the stacks, frames and objects of a profile, and its notes about
// names; the rest is left to the caller. Progress, unless nil, is told how many of
// all distinct frames have been looked up.
//
// What can't be read costs names and is no error: a frame without one has the
// address, and the profile a note where it is the kernel that has none.
func (s *Symbolizer) Profile(set *stack.Set, progress func(done, all int)) *profile.Profile {
	p := &profile.Profile{}
	b := &build{symbolizer: s, set: set, profile: p,
		frames:  make(map[callchain.Frame]int),
		objects: make(map[objectKey]int),
		maps:    make(map[callchain.ObjectID]*symbols.PerfMap),
	}
	b.object(objectKey{id: callchain.Kernel}, func() profile.Object {
		return profile.Object{Path: "[kernel]", Kernel: true, HasFunctions: true}
	})
	if progress == nil {
		progress = func(int, int) {}
	}
	s.calls++
	b.stacks(progress)
	if !s.late {
		s.unload()
		s.forget()
	}
	for _, err := range set.Unknown {
		p.Notes = append(p.Notes, err.Error())
	}
	p.Notes, s.notes = append(p.Notes, s.notes...), nil
	if s.kernel.err != nil {
		p.Notes = append(p.Notes, fmt.Sprintf("kernel frames have no names: %v", s.kernel.err))
	}
	if len(s.cache) > maxCached {
		clear(s.cache)
	}
	return p
}

// Stack names the frames of a set's first stack. They are leaf first, and each tells its object as an
// index of the second result.
func (s *Symbolizer) Stack(of stack.Set) ([]profile.Frame, []profile.Object) {
	p := s.Profile(&of, nil)
	frames := make([]profile.Frame, 0, len(of.Stacks[0].Frames))
	for _, i := range slices.Backward(p.Stacks[0].Frames) {
		frames = append(frames, p.Frames[i])
	}
	return frames, p.Objects
}

// source is the file of an object, and what a profile says of it.
type source struct {
	file     *symbols.File // nil if it can't be read, or is unloaded
	object   profile.Object
	size     int64 // of the file, in bytes
	unloaded bool
	skipped  bool   // a note has told of symbols that are left out
	used     uint64 // the call of Profile that asked for it last
}

// source is the file of an object as it was found when it was first asked for.
func (s *Symbolizer) source(id callchain.ObjectID, image *stack.Image) *source {
	from, ok := s.files[id]
	if !ok {
		from = &source{}
		s.load(from, image)
		from.object = profile.Object{Path: image.Path, HasFunctions: from.file != nil}
		if from.file != nil {
			from.object.BuildID = from.file.BuildID()
		}
		s.files[id] = from
	}
	from.used = s.calls
	return from
}

// load opens a file.
func (s *Symbolizer) load(from *source, image *stack.Image) {
	var err error
	if from.file, err = s.open(image); err != nil {
		s.opts.Logger.Info("symbols are missing", "object", image.Path, "error", err)
	}
	if from.size, from.unloaded = image.Size, false; from.file != nil {
		s.loaded += from.size
	}
}

// file is the file of a source, loaded again if it has been unloaded.
func (s *Symbolizer) file(from *source, image *stack.Image) *symbols.File {
	if from.unloaded {
		s.load(from, image)
	}
	return from.file
}

// unload frees the symbols of the files that the last profile did not have, if there
// are many. The names that were found in them are remembered.
func (s *Symbolizer) unload() {
	if s.loaded <= maxLoaded {
		return
	}
	for _, from := range s.files {
		if from.used != s.calls {
			s.close(from)
		}
	}
}

// forget forgets the files that the last profile did not have, if there are many: most
// are of objects that have ended.
func (s *Symbolizer) forget() {
	if len(s.maps) > maxFiles {
		clear(s.maps)
	}
	if len(s.files) <= maxFiles {
		return
	}
	for id, from := range s.files {
		if from.used != s.calls {
			s.close(from)
			delete(s.files, id)
		}
	}
}

// close frees the symbols of a file.
func (s *Symbolizer) close(from *source) {
	if from.file == nil {
		return
	}
	if err := from.file.Close(); err != nil {
		s.opts.Logger.Info("close debug file", "object", from.object.Path, "error", err)
	}
	from.file, from.unloaded = nil, true
	s.loaded -= from.size
}

// open opens the file of an image, whose symbols are read when they are asked for.
func (s *Symbolizer) open(image *stack.Image) (*symbols.File, error) {
	if image.Code == nil {
		return nil, image.Err
	}
	return symbols.Open(image.Code, image.Size, symbols.Options{Path: image.Path, Open: s.opts.DebugFiles, Unpack: s.opts.Memory})
}

// Close closes the debug files that were opened. Profiles stay valid.
func (s *Symbolizer) Close() error {
	if s.late {
		return nil // they are still read
	}
	if s.kernel.ahead != nil {
		s.kernel.ahead.done.Wait()
	}
	var errs []error
	for _, from := range s.files {
		if from.file != nil {
			errs = append(errs, from.file.Close())
		}
	}
	return errors.Join(errs...)
}

// Function is where the function begins that holds a frame of a file; false where
// neither symbol nor unwind information tells.
func (s *Symbolizer) Function(f callchain.Frame, image *stack.Image) (start uint64, ok bool) {
	file := s.file(s.source(f.Object, image), image)
	if file == nil {
		return 0, false
	}
	if symbol, ok := lookUp(file, f.Offset); ok {
		return symbol.Start, true
	}
	start, _, ok = file.Bounds(f.Offset)
	return start, ok
}

// Variable names the variable at an address of a process. start is where the process has
// mapped the object's byte at offset.
func (s *Symbolizer) Variable(addr, start, offset uint64, id callchain.ObjectID, image *stack.Image) (name string, variable uint64, ok bool) {
	file := s.file(s.source(id, image), image)
	if file == nil {
		return "", 0, false
	}
	vaddr, ok := file.Vaddr(offset)
	if !ok {
		return "", 0, false
	}
	bias := start - vaddr
	name, variable, ok = file.Variable(addr - bias)
	return symbols.Demangle(name), variable + bias, ok
}
