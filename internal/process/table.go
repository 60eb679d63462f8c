package process

import (
	"log/slog"
	"strconv"
	"time"

	"golang.org/x/sys/unix"

	"github.com/ringtap/ringtap/callchain"
)

// maxPID is above every pid there can be (PID_MAX_LIMIT in
// include/linux/threads.h).
const maxPID = 1 << 22

// Options are the choices of a Table; its zero value is usable.
type Options struct {
	// Host is the machine that the processes are of.
	Host Host

	// Unwind compiles an unwind table for each object that a sample is in.
	Unwind bool

	// MaxFiles bounds the mapped files and perf maps that are held open; 0
	// takes half of the soft RLIMIT_NOFILE, and 4096 at most.
	MaxFiles int

	// Keep is how long the former lives of a pid are kept for AsOf; 0 keeps none.
	Keep time.Duration

	// FollowCode notes when processes append to their perf maps, for CodeAt.
	FollowCode bool

	// Logger receives what is odd but no error; nil drops it.
	Logger *slog.Logger
}

// Table is the model of the host's processes. It is used by one goroutine;
// only the readers that Object.Open returns may be used by others.
type Table struct {
	options Options
	log     *slog.Logger
	fs      *procfs
	files   *fileSet

	mntNS, pidNS uint64 // our own; 0 if they cannot be read

	byPID   map[int]*Process
	exited  []*Process // oldest first; those of byPID whose EXIT was seen
	sweepAt int        // length of exited that starts a sweep
	dying   *Process
	next    int           // Index of the next process
	version uint64        // last one given to an address space
	losses  int           // LOST records so far
	swept   int           // of them at the last sweep
	now     func() uint64 // the host's clock

	cachedOnly bool // see CachedOnly
	refused    bool

	asOf       uint64         // what Process is asked about, 0 for the present
	lives      map[int][]life // by pid, the oldest first
	livesSwept uint64

	objects  map[callchain.ObjectID]*Object // those with an ID
	last     callchain.ObjectID             // that was given
	held     func(hold func(callchain.ObjectID))
	byKey    map[key]*Object
	vdso     *Object
	vdso32   *Object // of 32-bit programs
	overflow *Object
	bytes    int // estimate of what byKey's objects take

	code *codeWatch // nil without Options.FollowCode
}

// NewTable returns a table that knows pid 0 and nothing else.
func NewTable(options Options) *Table {
	if options.Logger == nil {
		options.Logger = slog.New(slog.DiscardHandler)
	}
	if options.MaxFiles <= 0 {
		options.MaxFiles = fileBudget()
	}
	t := &Table{
		options: options,
		log:     options.Logger,
		fs:      newProcfs(options.Host),
		files:   &fileSet{limit: options.MaxFiles},
		byPID:   make(map[int]*Process),
		sweepAt: 2 * options.keep(),
		byKey:   make(map[key]*Object),
		now:     options.Host.clock(),
	}
	t.mntNS = t.fs.inode("self", "ns/mnt")
	t.pidNS = t.fs.inode("self", "ns/pid")
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

// fileBudget is half of the open files that we may have, for the rings and the
// reports want some too.
func fileBudget() int {
	const most = 4096
	var limit unix.Rlimit
	if err := unix.Getrlimit(unix.RLIMIT_NOFILE, &limit); err != nil || limit.Cur/2 > most {
		return most
	}
	return max(int(limit.Cur/2), 16)
}

// Host is the machine that the processes are of.
func (t *Table) Host() Host { return t.fs.Host }

// Close closes the files that are held open.
func (t *Table) Close() {
	t.EndReads()
	if t.code != nil {
		t.code.close()
	}
	t.files.closeAll()
}

// EndReads has all reading of mapped files fail from now on, with an error that wraps
// context.Canceled: a run that ends does not wait for files of gigabytes. Any goroutine
// may call it.
func (t *Table) EndReads() { t.files.ended.Store(true) }

// Process returns the process with that tgid as of the last record: the live
// one, or the last one to have it. A pid that was not heard of is read from
// /proc; if that cannot be done the result is a process without mappings whose
// Comm is its number, ":1234", as perf shows it, and that is remembered.
//
// The result is never nil. It stays valid as long as the caller keeps it, and
// shows what the process was at its end. Pids that are none (a thread that is
// about to vanish has −1) give one process with the PID −1.
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

// CachedOnly has Process and Process.Find answer at once, until the next call: what would
// be read of /proc or compiled for an answer is not known. Refused says that there was
// such a thing since, so that the answers are worth nothing.
func (t *Table) CachedOnly(on bool) { t.cachedOnly, t.refused = on, false }

// Refused says that an answer was not given since CachedOnly.
func (t *Table) Refused() bool { return t.refused }

// Refuses says that nothing may be looked up that takes long, and notes that something was to be.
func (t *Table) Refuses() bool {
	t.refused = t.refused || t.cachedOnly
	return t.cachedOnly
}

// Reread is Process for a caller without records, who looks at a process again: it is
// read from /proc anew, as another life. Its objects are those that it had.
func (t *Table) Reread(pid int) *Process {
	delete(t.byPID, pid)
	return t.Process(pid)
}

// Processes returns how many processes the table knows, exited ones included.
func (t *Table) Processes() int { return len(t.byPID) }

// Objects returns the kernel and the objects that a Find has named and that have not
// ended. The map belongs to the table and changes with it.
func (t *Table) Objects() map[callchain.ObjectID]*Object { return t.objects }

// Hold has held tell, whenever objects may end, which ones frames still refer to that
// the caller keeps: it calls hold with each. Without it the caller keeps no frames
// beyond the next call of Handle or Process, where objects end.
func (t *Table) Hold(held func(hold func(callchain.ObjectID))) { t.held = held }

// load reads a process from /proc, or remembers that this is not possible.
func (t *Table) load(pid int) *Process {
	p, err := t.readProcess(pid)
	if err == nil {
		return p
	}
	if !notFound(err) {
		t.log.Debug("cannot read process", "pid", pid, "error", err)
	}
	// Since zero: what records still tell of it is all there is.
	p = t.newProcess(pid, ":"+strconv.Itoa(pid), 0)
	p.unknown = true
	t.byPID[pid] = p
	t.exit(p)
	return p
}

// newProcess returns a process with a row of its own.
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
