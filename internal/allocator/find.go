package allocator

import (
	"errors"
	"fmt"
	"log/slog"
	"os"
	"os/exec"
	"path/filepath"
	"strings"

	"github.com/ringtap/ringtap/internal/cgroup"
	"github.com/ringtap/ringtap/internal/library"
	"github.com/ringtap/ringtap/internal/process"
	"github.com/ringtap/ringtap/uprobe"
)

// Where says whose allocators are looked for.
type Where struct {
	// PIDs are the processes whose mapped files are looked at. Without any, and no
	// Command or Cgroup, it is the whole system.
	PIDs []int
	// Cgroup is a directory of a control group: its processes are looked at, and
	// the allocators that are known by name, for those to come.
	Cgroup string
	// Command is a program that is still to run, and its arguments, as exec.Command
	// takes them. Programs that the arguments name are looked at as well: a shell or
	// env(1) will execute them in its place.
	Command []string
	// ThrowingNew has functions watched that throw exceptions. A program that catches
	// std::bad_alloc then ends in its place.
	ThrowingNew bool
	Logger      *slog.Logger // may be nil
}

// Probe is one function of a file that is to be probed.
type Probe struct {
	*Function
	Path  string      // of the file, for people
	Entry uprobe.Site // a return probe is at the same instruction
}

// Probes are the functions that were found. They hold files open.
type Probes struct {
	All   []Probe
	Files []string // that have them, for people
	// Unwatched are files in use with functions that were left out since they throw.
	Unwatched []string
	// Large has Attach tell large allocations apart from others: see Source.Large. It costs each
	// allocation a few percent more.
	Large bool
	plans []*uprobe.Plan
}

// Close closes the files. Attachments must be closed before.
func (p *Probes) Close() error {
	var errs []error
	for _, plan := range p.plans {
		errs = append(errs, plan.Close())
	}
	return errors.Join(errs...)
}

// Find finds the allocators: see Where. The caller closes what it returns. The
// error is a *NoneError, or a *library.ProcessError or package library's others
// where a process or command can't be looked into.
func Find(w Where) (*Probes, error) {
	if w.Logger == nil {
		w.Logger = slog.New(slog.DiscardHandler)
	}
	f := &finder{logger: w.Logger, throwing: w.ThrowingNew, seen: make(map[identity]bool), found: &Probes{}}
	where, why, err := f.find(w)
	if err == nil && len(f.found.All) == 0 {
		err = &NoneError{Where: where, Err: why}
	}
	if err != nil {
		_ = f.found.Close() // of files that were only read
		return nil, err
	}
	return f.found, nil
}

type finder struct {
	host     process.Host
	logger   *slog.Logger
	throwing bool
	named    bool // looking at allocators that nobody is known to have mapped
	whole    bool // looking at the whole system
	seen     map[identity]bool
	found    *Probes
}

// identity is that of a file.
type identity struct{ dev, ino uint64 }

// find looks where it was told to; why says what is wrong with the file that
// should have an allocator.
func (f *finder) find(w Where) (where string, why, err error) {
	switch {
	case len(w.Command) > 0:
		where = w.Command[0]
		why, err = f.command(w.Command[0])
		f.arguments(w.Command[1:])
	case w.Cgroup != "":
		where = w.Cgroup
		pids, err := cgroup.Processes(w.Cgroup)
		if err != nil {
			return where, nil, fmt.Errorf("list the processes of a control group: %w", err)
		}
		for _, pid := range pids {
			// A process may be gone by now.
			_, _ = f.process(pid, false)
		}
		f.known()
	case len(w.PIDs) > 0:
		where = fmt.Sprintf("process %d", w.PIDs[0])
		for _, pid := range w.PIDs {
			if of, failed := f.process(pid, false); failed != nil && len(w.PIDs) == 1 {
				err = failed
			} else if why == nil {
				why = of
			}
		}
	default:
		where, f.whole = "this system", true
		f.everywhere()
		f.known()
	}
	return where, why, err
}

// command looks at a program that is to run: at itself, at the library where it
// finds malloc, at what is preloaded, and at the allocators known by name, which it
// or its children may load.
func (f *finder) command(name string) (why, err error) {
	target, err := library.Find(name, library.Options{})
	script := (*library.ScriptError)(nil)
	if errors.As(err, &script) {
		return f.command(script.Interpreter)
	}
	if err != nil {
		return nil, err
	}
	path := target.Path
	target.File.Close()
	why = f.file(path, 0)
	for _, preload := range strings.FieldsFunc(os.Getenv("LD_PRELOAD"), func(r rune) bool { return r == ' ' || r == ':' }) {
		f.try(preload, 0)
	}
	f.loaded(why, 0)
	return why, nil
}

// arguments looks at the programs among the words of arguments.
func (f *finder) arguments(args []string) {
	for _, arg := range args {
		for _, word := range strings.FieldsFunc(arg, func(r rune) bool { return strings.ContainsRune(" \t\n;&|()`'\"", r) }) {
			if path, err := exec.LookPath(word); err == nil {
				f.try(path, 0)
			}
		}
	}
}

// loaded looks at what a program, seen from a process, may load or start whose own
// file has no allocator: why says so, or is nil if it has. The loader maps libraries
// only after exec(2).
func (f *finder) loaded(why error, pid int) {
	symbol := (*uprobe.SymbolError)(nil)
	switch {
	case why != nil && !errors.As(why, &symbol):
		return // no program that runs here
	case symbol != nil && symbol.Stripped && !symbol.Imported:
		return // what it has can't be found
	case symbol != nil && symbol.Library != "":
		f.try(symbol.Library, pid)
	}
	f.known()
}

// knownFiles are allocators by the names that the loader knows them by.
var knownFiles = []string{
	"libc.so.6", "/lib/ld-musl-x86_64.so.1", "/lib/ld-musl-aarch64.so.1",
	"libjemalloc.so.2", "libjemalloc.so.1", "libtcmalloc.so.4", "libtcmalloc_minimal.so.4", "libmimalloc.so.2",
}

// known looks at the allocators of the host.
func (f *finder) known() {
	f.named = true
	defer func() { f.named = false }()
	for _, name := range knownFiles {
		f.try(name, 0)
	}
}

// looksKnown tells an allocator by the name of its file.
func looksKnown(path string) bool {
	base := filepath.Base(path)
	for _, begin := range []string{"libc.so.", "libc-2.", "libc.musl-", "ld-musl-", "libjemalloc", "libtcmalloc", "libmimalloc"} {
		if strings.HasPrefix(base, begin) {
			return true
		}
	}
	return false
}

// try looks at a file that need not be there.
func (f *finder) try(name string, pid int) {
	if err := f.file(name, pid); err != nil {
		f.logger.Debug("no allocator", "file", name, "error", err)
	}
}
