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

// Options says how to find names.
type Options struct {
	Lines         bool // also find source lines and inlined functions
	CachePerfMaps bool // there are many small sets: do not read perf maps for each
	// Demangle converts symbols to function names; nil is symbols.Demangle.
	Demangle func(string) string
	// Late is closed when names are not worth waiting for any more; nil: never.
	Late <-chan struct{}
	Host process.Host // has the kernel's symbols
	// DebugFiles opens separate debug files (see symbols.Options.Open). If nil, the Symbolizer
	// opens the files that are installed on this machine.
	DebugFiles func(path string) (symbols.ReaderAtCloser, int64, error)
	// Memory bounds the bytes that unpacking a file's symbols may take. 0 means the default of
	// package symbols.
	Memory int
	Logger *slog.Logger // receives the reasons for missing names; nil discards
}

// Bounds on what is kept between profiles: maxCached frames, maxFiles files, and maxLoaded bytes of
// files whose symbols are loaded. The symbols take about a twentieth of that. On a machine that
// builds software, thousands of programs run once.
const (
	maxCached = 1 << 18
	maxFiles  = 1 << 10
	maxLoaded = 1 << 30

	maxSkipped = 10 // files with skipped symbols that notes mention
)

// Symbolizer names the frames of one run. An ObjectID must mean the same object in all sets. Only
// one goroutine may use it.
type Symbolizer struct {
	opts   Options
	files  map[callchain.ObjectID]*source
	loaded int64                             // bytes of files whose symbols are loaded
	calls  uint64                            // number of calls of Profile
	cache  map[callchain.Frame]profile.Frame // of files; without Object, which depends on the profile
	maps   map[callchain.ObjectID]perfMap    // for Options.CachePerfMaps

	kernel kernelNames

	late    bool            // no more files are read; a goroutine may still be reading one
	notes   []string        // for the next profile
	split   map[string]bool // paths of files that noteSplit has mentioned
	skipped int             // files that noteSkipped has mentioned
}

// New returns a Symbolizer.
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

// ReadAhead starts reading the kernel's symbols in the background, for the next Profile.
func (s *Symbolizer) ReadAhead() { s.kernel.ahead = readAhead(s.opts.Host) }

// Profile makes a profile with stacks, frames, objects, and notes about names. The caller fills in
// the rest. progress, unless nil, is called with how many of all distinct frames have been looked
// up.
//
// If something can't be read, names are missing, but that is not an error. A frame without a name
// has its address. If kernel names are missing, there is a note.
func (s *Symbolizer) Profile(set *stack.Set, progress func(done, all int)) *profile.Profile {
	p := &profile.Profile{}
	b := &build{symbolizer: s, set: set, profile: p,
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

// Stack names the frames of a set's first stack, leaf first. Their Object is an index into the
// second result.
func (s *Symbolizer) Stack(set stack.Set) ([]profile.Frame, []profile.Object) {
	p := s.Profile(&set, nil)
	frames := make([]profile.Frame, 0, len(set.Stacks[0].Frames))
	for _, i := range slices.Backward(p.Stacks[0].Frames) {
		frames = append(frames, p.Frames[i])
	}
	return frames, p.Objects
}

// source is the file of an object, and how a profile describes it.
type source struct {
	file     *symbols.File // nil if it can't be read, or is unloaded
	object   profile.Object
	size     int64 // of the file, in bytes
	unloaded bool
	skipped  bool   // noteSkipped has mentioned it
	used     uint64 // value of Symbolizer.calls when it was last used
}

// source returns the file of an object. The first call opens it.
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

// file returns the file of a source. It loads the file again if it was unloaded.
func (s *Symbolizer) file(from *source, image *stack.Image) *symbols.File {
	if from.unloaded {
		s.load(from, image)
	}
	return from.file
}

// unload frees the symbols of files that the last profile did not use, if too many are loaded.
// Names found in them are kept.
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

// forget forgets the files that the last profile did not use, if there are too many. Most of their
// processes have ended.
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

// open opens the file of an image. Its symbols are read when they are needed.
func (s *Symbolizer) open(image *stack.Image) (*symbols.File, error) {
	if image.Code == nil {
		return nil, image.Err
	}
	return symbols.Open(image.Code, image.Size, symbols.Options{Path: image.Path, Open: s.opts.DebugFiles, Unpack: s.opts.Memory})
}

// Close closes the debug files. Profiles stay valid.
func (s *Symbolizer) Close() error {
	if s.late {
		return nil // a goroutine is still reading
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

// Function returns the start of the function that contains a frame of a file. ok is false if
// neither symbols nor unwind information have it.
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

// Variable returns the name and the address of the variable at an address of a process. start is
// the address of the object's byte at offset.
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
