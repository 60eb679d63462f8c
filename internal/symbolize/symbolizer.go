package symbolize

import (
	"errors"
	"fmt"
	"log/slog"
	"os"
	"time"

	"golang.org/x/sys/unix"

	"github.com/ringtap/ringtap/callchain"
	"github.com/ringtap/ringtap/internal/collect"
	"github.com/ringtap/ringtap/internal/process"
	"github.com/ringtap/ringtap/internal/profile"
	"github.com/ringtap/ringtap/symbols"
)

// Options says how names are found.
type Options struct {
	Lines    bool   // source lines and inlined functions too
	Kallsyms string // path of the kernel's symbol table, /proc/kallsyms
	Logger   *slog.Logger
}

// maxCached bounds the frames that are remembered between windows.
const maxCached = 1 << 20

// Symbolizer gives frames their names. It belongs to one goroutine.
type Symbolizer struct {
	opts  Options
	files map[callchain.ObjectID]*symbols.File // nil for one that can't be read
	cache map[callchain.Frame]profile.Frame    // Object and Name alone depend on the window

	kernel     *symbols.Kallsyms
	kernelErr  error
	kernelRead bool
}

// New makes a Symbolizer that has read nothing yet.
func New(opts Options) *Symbolizer {
	return &Symbolizer{
		opts:  opts,
		files: make(map[callchain.ObjectID]*symbols.File),
		cache: make(map[callchain.Frame]profile.Frame),
	}
}

// Profile symbolizes a window. What belongs to the run and not to the window
// (collector, event, metrics, accounts) is left to the caller. Progress, unless
// nil, is told how many of how many distinct frames have a name.
func (s *Symbolizer) Profile(w *collect.Window, progress func(done, all int)) *profile.Profile {
	p := &profile.Profile{
		Duration:  time.Duration(w.End - w.Start),
		Rows:      w.Rows,
		Processes: w.Processes,
	}
	b := &build{symbolizer: s, window: w, profile: p,
		frames:  make(map[callchain.Frame]int),
		objects: make(map[objectKey]int),
		maps:    make(map[callchain.ObjectID]*symbols.PerfMap),
	}
	b.object(objectKey{id: callchain.Kernel}, func() profile.Object {
		return profile.Object{Path: "[kernel]", Kernel: true, HasFunctions: true}
	})
	b.stacks(progress)
	if s.kernelErr != nil {
		p.Notes = append(p.Notes, fmt.Sprintf("kernel frames have no names: %v", s.kernelErr))
	}
	if len(s.cache) > maxCached {
		clear(s.cache)
	}
	return p
}

// kallsyms reads the kernel's symbols when the first kernel frame needs them.
func (s *Symbolizer) kallsyms() *symbols.Kallsyms {
	if s.kernelRead {
		return s.kernel
	}
	s.kernelRead = true
	f, err := os.Open(s.opts.Kallsyms)
	if err != nil {
		s.kernelErr = err
		return nil
	}
	defer f.Close()
	s.kernel, s.kernelErr = symbols.ReadKallsyms(f)
	return s.kernel
}

// file opens the symbols of an object's file, once.
func (s *Symbolizer) file(id callchain.ObjectID, image *collect.Image) *symbols.File {
	f, ok := s.files[id]
	if ok {
		return f
	}
	err := image.Err
	if image.Code != nil {
		f, err = symbols.Open(image.Code, image.Size, symbols.Options{Path: image.Path, Open: openDebugFile})
	}
	if err == nil {
		err = f.Load()
	}
	if err != nil {
		s.opts.Logger.Info("no symbols", "object", image.Path, "error", err)
	}
	s.files[id] = f
	return f
}

// openDebugFile opens a separate debug file of the host. Whether it belongs to
// the object is for package symbols to check, by build id or checksum. Only
// regular files are opened, for the path may be one that a target chose.
func openDebugFile(path string) (symbols.ReaderAtCloser, int64, error) {
	info, err := os.Stat(path)
	if err != nil {
		return nil, 0, err
	}
	if !info.Mode().IsRegular() {
		return nil, 0, fmt.Errorf("%s is not a regular file", path)
	}
	f, err := os.OpenFile(path, os.O_RDONLY|unix.O_NONBLOCK|unix.O_NOCTTY, 0)
	return f, info.Size(), err
}

// Close closes the debug files that were opened.
func (s *Symbolizer) Close() error {
	var errs []error
	for _, f := range s.files {
		if f != nil {
			errs = append(errs, f.Close())
		}
	}
	return errors.Join(errs...)
}

// hasFile tells whether the frames of such an object are offsets in an ELF
// image.
func hasFile(k process.Kind) bool { return k == process.File || k == process.VDSO }
