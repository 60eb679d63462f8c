package process

import (
	"log/slog"
	"strconv"
	"time"

	"golang.org/x/sys/unix"

	"github.com/ringtap/ringtap/callchain"
)

// maxPID is larger than every possible pid (PID_MAX_LIMIT in include/linux/threads.h).
const maxPID = 1 << 22

// Options configure a Table; the zero value is usable.
type Options struct {
	// Host is the machine whose processes the table follows.
	Host Host

	// Unwind makes Find compile an unwind table for each object with a sample.
	Unwind bool

	// maxFiles bounds the mapped files and perf maps held open. 0 means half of the soft
	// RLIMIT_NOFILE, and at most 4096.
	maxFiles int

	// Keep is how long former processes of a pid are kept for AsOf; 0 keeps none.
	Keep time.Duration

	// FollowCode watches when processes append to their perf maps, for CodeAt.
	FollowCode bool

	// Logger receives oddities that are no errors; nil drops them.
	Logger *slog.Logger
}

// Table is the model of the host's processes. It belongs to one goroutine; only the readers
// returned by Object.Open may be used by others.
type Table struct {
	options Options
	log     *slog.Logger
	fs      *procfs
	files   *fileSet

	mntNS, pidNS uint64 // our own namespaces; 0 if they can't be read

	byPID   map[int]*Process
	exited  []*Process // oldest first; processes in byPID whose EXIT was seen
	sweepAt int        // length of exited that triggers a sweep
	dying   *Process
	next    int           // Index of the next process
	version uint64        // last version given to an address space
	losses  int           // LOST records so far
	swept   int           // value of losses at the last sweep
	now     func() uint64 // the host's clock

	cachedOnly bool // see CachedOnly
	refused    bool

	asOf       uint64         // the time that Process looks at, 0 for the present
	lives      map[int][]life // by pid, oldest first
	livesSwept uint64

	objects  map[callchain.ObjectID]*Object // those with an ID
	last     callchain.ObjectID             // last ID given
	held     func(hold func(callchain.ObjectID))
	byKey    map[key]*Object
	vdso     *Object
	vdso32   *Object // of 32-bit programs
	overflow *Object
	bytes    int // estimated memory of byKey's objects

	code *codeWatch // nil without Options.FollowCode
}

// NewTable returns a table that knows only pid 0.
func NewTable(options Options) *Table {
	if options.Logger == nil {
		options.Logger = slog.New(slog.DiscardHandler)
	}
	if options.maxFiles <= 0 {
		options.maxFiles = fileBudget()
	}
	t := &Table{
		options: options,
		log:     options.Logger,
		fs:      newProcfs(options.Host),
		files:   &fileSet{limit: options.maxFiles},
		byPID:   make(map[int]*Process),
		sweepAt: 2 * options.keep(),
		byKey:   make(map[key]*Object),
		now:     options.Host.clock(),
	}
	t.mntNS = t.fs.Inode("self/ns/mnt")
	t.pidNS = t.fs.Inode("self/ns/pid")
	t.objects = map[callchain.ObjectID]*Object{callchain.Kernel: {Kind: Kernel, Path: "[kernel]"}}
	if options.FollowCode {
		var err error
		if t.code, err = newCodeWatch(t.now); err != nil {
			t.log.Info("code that takes the place of other code is not told apart", "error", err)
		}
	}
	t.byPID[0] = t.newProcess(0, "swapper", 0)
	t.dying = t.newProcess(-1, ":-1", 0)
	return t
}

// fileBudget returns half of our limit on open files: the rings and the reports need some too.
func fileBudget() int {
	const most = 4096
	var limit unix.Rlimit
	if err := unix.Getrlimit(unix.RLIMIT_NOFILE, &limit); err != nil || limit.Cur/2 > most {
		return most
	}
	return max(int(limit.Cur/2), 16)
}

// Host returns the machine whose processes the table follows.
func (t *Table) Host() Host { return t.fs.Host }

// Close closes all files held open.
func (t *Table) Close() {
	t.EndReads()
	if t.code != nil {
		t.code.close()
	}
	t.files.closeAll()
}

// EndReads makes all reads of mapped files fail from now on, with an error that wraps
// context.Canceled. A run that ends need not wait for gigabytes of files. Any goroutine may
// call it.
func (t *Table) EndReads() { t.files.ended.Store(true) }

// Process returns the process with that tgid as of the last record: the live one, or the last
// one that had it. An unknown pid is read from /proc. If that fails, the result is a process
// without mappings whose Comm is its number, ":1234", as in perf; the table remembers it.
//
// The result is never nil. It is valid as long as the caller keeps it, and then shows the
// process as it was at its end. Invalid pids share one process with the PID −1. Threads that
// are about to vanish have −1.
func (t *Table) Process(pid int) *Process {
	if pid < 0 || pid > maxPID {
		return t.dying
	}
	if t.asOf > 0 {
		if p := t.former(pid); p != nil {
			return p
		}
	}
	if p := t.byPID[pid]; p != nil {
		p.seen = p.exited
		return p
	}
	if t.Refuses() {
		return t.dying
	}
	return t.load(pid)
}

// CachedOnly(true) makes Process and Process.Find return immediately, until CachedOnly(false).
// They do not read /proc or compile tables, and treat what is not cached as unknown. If Refused
// then reports true, such a case has occurred and the results must not be used.
func (t *Table) CachedOnly(on bool) { t.cachedOnly, t.refused = on, false }

// Refused reports whether a lookup was refused since the last CachedOnly.
func (t *Table) Refused() bool { return t.refused }

// Refuses reports whether slow lookups are forbidden. If so, it records that one was refused.
func (t *Table) Refuses() bool {
	t.refused = t.refused || t.cachedOnly
	return t.cachedOnly
}

// Reread is Process for a caller without records that looks at a process again. It reads the
// process from /proc as a new life. The objects stay the same.
func (t *Table) Reread(pid int) *Process {
	delete(t.byPID, pid)
	return t.Process(pid)
}

// Processes returns how many processes the table knows, exited ones included.
func (t *Table) Processes() int { return len(t.byPID) }

// Objects returns the kernel and all objects that a Find has named and that have not ended. The
// map belongs to the table and changes with it.
func (t *Table) Objects() map[callchain.ObjectID]*Object { return t.objects }

// Hold sets a function that reports the objects whose frames the caller still keeps. The table
// calls held when objects may end, and held must call hold with each such object. Without Hold
// the caller may keep no frames beyond the next call of Handle or Process, where objects end.
func (t *Table) Hold(held func(hold func(callchain.ObjectID))) { t.held = held }

// load reads a process from /proc. If that fails, it adds a process without data.
func (t *Table) load(pid int) *Process {
	p, err := t.readProcess(pid)
	if err == nil {
		return p
	}
	if !notFound(err) {
		t.log.Debug("cannot read process", "pid", pid, "error", err)
	}
	// since is 0: later records about it are all we can get.
	p = t.newProcess(pid, numbered(pid), 0)
	p.unknown = true
	t.byPID[pid] = p
	if t.fs.Recording == nil { // a recording says when it exits
		t.exit(p)
	}
	return p
}

// numbered is the name of a process whose name is not known.
func numbered(pid int) string { return ":" + strconv.Itoa(pid) }

// newProcess returns a new life of pid with its own Index.
func (t *Table) newProcess(pid int, comm string, since uint64) *Process {
	p := &Process{
		Index: t.next,
		PID:   pid,
		NSPID: pid,
		TGID:  pid,
		Comm:  comm,
		table: t,
		since: since,

		losses:  t.losses,
		missing: reread{again: since + minPause, pause: minPause},
	}
	t.next++
	p.changed()
	return p
}
