package allocator

import (
	"errors"
	"fmt"
	"log/slog"
	"os"
	"os/exec"
	"strings"

	"github.com/ringtap/ringtap/internal/probe/library"
	"github.com/ringtap/ringtap/internal/process"
	"github.com/ringtap/ringtap/internal/process/cgroup"
	"github.com/ringtap/ringtap/uprobe"
)

// Where says where to look for allocators.
type Where struct {
	// PIDs are processes. Find searches the files that they have mapped. Without PIDs, Command and
	// Cgroup, it searches the whole system.
	PIDs []int
	// Cgroup is the directory of a control group. Find searches its processes, and the allocators
	// that it knows by name, for processes that start later.
	Cgroup string
	// Command is a program that has not started yet, with its arguments, as for exec.Command. Find
	// also searches programs named in the arguments, because a shell or env(1) may execute them.
	Command []string
	// ThrowingNew also probes functions that throw exceptions. A program that catches
	// std::bad_alloc is then ended by the probe.
	ThrowingNew bool
	Logger      *slog.Logger // may be nil
}

// Probe is a function in a file that is to be probed.
type Probe struct {
	*Function
	path  string      // of the file, for messages
	entry uprobe.Site // the return probe is at the same instruction
}

// Probes are the functions that Find found. They keep files open.
type Probes struct {
	All   []Probe
	Files []string // files that have such functions, for messages
	// Unwatched are files with functions that were left out because they throw.
	Unwatched []string
	// Large makes Attach separate large allocations from others: see Source.Large. That makes each
	// allocation a few percent slower.
	Large bool
	plans []*uprobe.Plan
}

// Close closes the files. Attachments must be closed first.
func (p *Probes) Close() error {
	var errs []error
	for _, plan := range p.plans {
		errs = append(errs, plan.Close())
	}
	return errors.Join(errs...)
}

// Find finds allocators: see Where. The caller closes the result. The error is a *NoneError. If a
// process or command can't be examined, it is a *library.ProcessError or another error of package
// library.
func Find(w Where) (*Probes, error) {
	if w.Logger == nil {
		w.Logger = slog.New(slog.DiscardHandler)
	}
	f := &finder{logger: w.Logger, throwing: w.ThrowingNew, seen: make(map[identity]bool), found: &Probes{}}
	where, why, err := f.find(w)
	if err == nil && len(f.found.All) == 0 {
		err = &NoneError{where: where, err: why}
	}
	if err != nil {
		_ = f.found.Close() // an error does not matter: the files were only read
		return nil, err
	}
	return f.found, nil
}

type finder struct {
	host     process.Host
	logger   *slog.Logger
	throwing bool
	named    bool // looking at allocators that may not be mapped anywhere
	whole    bool // looking at the whole system
	seen     map[identity]bool
	found    *Probes
}

// identity identifies a file.
type identity struct{ dev, ino uint64 }

// find searches as w says. why says what is wrong with the file that should have an allocator.
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

// command searches a program that has not started yet: the program itself, the library that has its
// malloc, and preloaded libraries. It also searches the allocators known by name, which the program
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

// arguments searches the programs that are named in arguments.
func (f *finder) arguments(args []string) {
	for _, arg := range args {
		for _, word := range strings.FieldsFunc(arg, func(r rune) bool { return strings.ContainsRune(" \t\n;&|()`'\"", r) }) {
			if path, err := exec.LookPath(word); err == nil {
				f.try(path, 0)
			}
		}
	}
}

// loaded searches what a program may load or start if its own file has no allocator. why says that
// it has none; it is nil if the file has one. pid is the process whose files are meant. The loader
// maps libraries only after exec(2).
func (f *finder) loaded(why error, pid int) {
	symbol := (*uprobe.SymbolError)(nil)
	switch {
	case why != nil && !errors.As(why, &symbol):
		return // no program of this machine
	case symbol != nil && symbol.Stripped && !symbol.Imported:
		return // its functions can't be found
	case symbol != nil && symbol.Library != "":
		f.try(symbol.Library, pid)
	}
	f.known()
}

// knownFiles are the file names by which the loader finds allocators.
var knownFiles = []string{
	"libc.so.6", "/lib/ld-musl-x86_64.so.1", "/lib/ld-musl-aarch64.so.1",
	"libjemalloc.so.2", "libjemalloc.so.1", "libtcmalloc.so.4", "libtcmalloc_minimal.so.4", "libmimalloc.so.2",
}

// known searches the allocators of the host.
func (f *finder) known() {
	f.named = true
	defer func() { f.named = false }()
	for _, name := range knownFiles {
		f.try(name, 0)
	}
}

// try searches a file that may not exist.
func (f *finder) try(name string, pid int) {
	if err := f.file(name, pid); err != nil {
		f.logger.Debug("no allocator", "file", name, "error", err)
	}
}
