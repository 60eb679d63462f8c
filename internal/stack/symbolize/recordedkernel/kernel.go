package recordedkernel

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/ringtap/ringtap/internal/host/kcore"
	"github.com/ringtap/ringtap/internal/host/proc"
	"github.com/ringtap/ringtap/internal/object/buildid"
)

// Kernel describes the kernel of a recording.
type Kernel struct {
	BuildID []byte
	// Symbol and Address are a symbol and its address when the recording was made. In the kernel's
	// PERF_RECORD_MMAP, Symbol is what follows "]" in the name "[kernel.kallsyms]_text", and Address
	// is pgoff.
	Symbol  string
	Address uint64
	// Modules has the load address of each recorded module: addr of its PERF_RECORD_MMAP. The keys
	// are names as in /proc/modules, with underscores where file names have dashes.
	Modules map[string]uint64
}

// errNoSymbol is returned if Kernel has no Symbol or no Address.
var errNoSymbol = errors.New("the recording does not say at which address the kernel was")

// Open opens the kernel's symbols as text in the format of /proc/kallsyms, with the addresses that
// they had in the recording. The caller closes it.
//
// A build id does not tell where modules and BPF programs were loaded. The text has the symbols of a
// module only if the recorded kernel is running, at the same address, and has the module at its
// recorded address. It never has BPF programs: recordings name these (PERF_RECORD_KSYMBOL).
//
// The error is buildid.ErrUnknown if BuildID is empty. Otherwise it explains why each source has no
// symbols, and wraps symbols.ErrAddressesHidden if a source has only zeros for addresses.
func (k *Kernel) Open(files buildid.Files) (io.ReadCloser, error) {
	if err := k.check(); err != nil {
		return nil, err
	}
	// Only the running kernel has modules whose addresses can be compared, so it comes first.
	var errs []error
	for _, open := range []func(buildid.Files) (io.ReadCloser, error){k.running, k.cached, k.vmlinux} {
		text, err := open(files)
		if err == nil {
			return text, nil
		}
		if isNew := !slices.ContainsFunc(errs, func(e error) bool { return e.Error() == err.Error() }); isNew {
			errs = append(errs, err)
		}
	}
	return nil, &sourcesError{errs}
}

// check returns an error if the recording does not say which kernel it is of, or where that was.
func (k *Kernel) check() error {
	switch {
	case len(k.BuildID) == 0:
		return buildid.ErrUnknown
	case k.Symbol == "" || k.Address == 0:
		return errNoSymbol
	}
	return nil
}

// sourcesError says why no source has the kernel's symbols.
type sourcesError struct{ errs []error }

func (e *sourcesError) Error() string {
	var texts []string
	for _, err := range e.errs {
		texts = append(texts, err.Error())
	}
	return strings.Join(texts, "; ")
}

func (e *sourcesError) Unwrap() []error { return e.errs }

// running opens /proc/kallsyms if the recorded kernel is running.
func (k *Kernel) running(buildid.Files) (io.ReadCloser, error) {
	id, err := buildid.Kernel()
	if err != nil {
		return nil, err
	}
	if !buildid.Equal(id, k.BuildID) {
		return nil, fmt.Errorf("the running kernel has build id %x, not %x", id, k.BuildID)
	}
	f, err := proc.Live.Kallsyms()
	if err != nil {
		return nil, err
	}
	modules, _ := proc.Live.ReadFile("modules") // a kernel may lack modules; then there are none to keep
	return k.shift(f.Name(), f, k.loaded(proc.ParseModules(modules)))
}

// errMoved is returned if the recorded kernel runs, but was booted since.
var errMoved = errors.New("the machine was booted since, and its kernel is at another address")

// Memory opens the running kernel's memory, if that is the recorded kernel and still at the recorded
// address. Its code may have been patched since. The caller closes it.
func (k *Kernel) Memory() (*kcore.Reader, error) {
	if err := k.check(); err != nil {
		return nil, err
	}
	text, err := k.running(buildid.Files{})
	if err != nil {
		return nil, err
	}
	defer text.Close()
	if s, ok := text.(*shifted); !ok || s.shift != 0 {
		return nil, errMoved
	}
	return kcore.Open(proc.Live.Name("kcore"))
}

// cached opens the text that perf record has stored.
func (k *Kernel) cached(files buildid.Files) (io.ReadCloser, error) {
	f, err := files.Kallsyms(k.BuildID)
	if err != nil {
		return nil, err
	}
	return k.shift(f.Name(), f, nil)
}

// vmlinux reads the symbols of a kernel image.
func (k *Kernel) vmlinux(files buildid.Files) (io.ReadCloser, error) {
	f, err := files.Image(k.BuildID, images(files.Symfs)...)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	st, err := f.Stat()
	if err != nil {
		return nil, err
	}
	lines, err := functions(f, st.Size())
	if err != nil {
		return nil, fmt.Errorf("%s: %w", f.Name(), err)
	}
	return k.shift(f.Name(), io.NopCloser(lines), nil)
}

// images returns the paths at which distributions install a vmlinux, if there is one on this machine
// or below symfs.
func images(symfs string) (paths []string) {
	for _, root := range []string{"/", symfs} {
		if root == "" {
			continue
		}
		for _, pattern := range []string{
			"boot/vmlinux-*",
			"usr/lib/debug/boot/vmlinux-*",
			"usr/lib/debug/lib/modules/*/vmlinux",
			"lib/modules/*/build/vmlinux",
		} {
			names, _ := fs.Glob(os.DirFS(root), pattern) // the pattern is well-formed
			for _, name := range names {
				paths = append(paths, filepath.Join("/", name))
			}
		}
	}
	return paths
}

// loaded returns the names of the modules that are loaded at their recorded addresses.
func (k *Kernel) loaded(modules []proc.Module) map[string]bool {
	same := make(map[string]bool)
	for _, m := range modules {
		if recorded, ok := k.Modules[m.Name]; ok && recorded == m.Address {
			same[m.Name] = true
		}
	}
	return same
}
