package ftrace

import (
	"errors"
	"fmt"
	"hash/fnv"
	"os"
	"path/filepath"
	"strconv"
	"strings"

	"golang.org/x/sys/unix"

	"github.com/ringtap/ringtap/internal/proc"
)

// What ringtap leaves in tracefs carries its owner's name, and whoever finds it
// must know whether the owner still lives. Two signs tell, and only if both say
// no is the owner gone:
//
// A lock. The owner holds an open file description lock (fcntl_locking(2)) on
// one byte of the file tracing_on, at a place that follows from the name. The
// kernel drops it when the process dies, however it dies. The lock is what
// makes tracefs safe to share between containers: the process id in the name
// of a ringtap in another pid namespace means nothing, or some other process,
// here, but the lock is on the one inode that all of them see.
//
// The process. A process of that id that started at that time and is no zombie
// is alive: whoever makes a group by hand, without a lock, keeps it.
//
// The lock also tells two groups of one process apart.
const ownerPrefix = "ringtap_"

// owner is a claim on a name.
type owner struct {
	name string
	lock *os.File // holds the lock while it is open
}

// own claims a name that no one else has.
func (t *FS) own() (*owner, error) {
	start, _, err := startTime("self")
	if err != nil {
		return nil, err
	}
	lock, err := os.OpenFile(filepath.Join(t.dir, "tracing_on"), os.O_RDWR, 0)
	if err != nil {
		return nil, err
	}
	base := fmt.Sprintf("%s%d_%d", ownerPrefix, os.Getpid(), start)
	for n := 1; ; n++ {
		name := base
		if n > 1 {
			name = fmt.Sprintf("%s_%d", base, n)
		}
		if t.Has(filepath.Join("events", name)) || t.Has(filepath.Join("instances", name)) {
			continue
		}
		place := lockPlace(name)
		switch err := unix.FcntlFlock(lock.Fd(), unix.F_OFD_SETLK, &place); {
		case err == nil:
			return &owner{name: name, lock: lock}, nil
		case !errors.Is(err, unix.EAGAIN) && !errors.Is(err, unix.EACCES):
			lock.Close()
			return nil, fmt.Errorf("lock %s: %w", lock.Name(), err)
		}
	}
}

// isMine tells whether name is one that own gave to this process.
func isMine(name string) bool {
	pid, start, ok := parseOwner(name)
	if !ok || pid != os.Getpid() {
		return false
	}
	own, _, err := startTime("self")
	return err == nil && start == own
}

// release gives the name up.
func (o *owner) release() { o.lock.Close() }

// lockPlace is the byte that stands for a name.
func lockPlace(name string) unix.Flock_t {
	hash := fnv.New64a()
	hash.Write([]byte(name))
	return unix.Flock_t{Type: unix.F_WRLCK, Start: int64(hash.Sum64() >> 2), Len: 1}
}

// isStale tells whether name is one that own gave to a process that is gone.
func (t *FS) isStale(name string) bool {
	pid, start, ok := parseOwner(name)
	return ok && !isRunning(pid, start) && !t.isLocked(name)
}

// isLocked tells whether the name's lock is held; if that can't be known, it
// says that it is.
func (t *FS) isLocked(name string) bool {
	f, err := os.Open(filepath.Join(t.dir, "tracing_on"))
	if err != nil {
		return true
	}
	defer f.Close()
	place := lockPlace(name)
	return unix.FcntlFlock(f.Fd(), unix.F_OFD_GETLK, &place) != nil || place.Type != unix.F_UNLCK
}

// parseOwner reads the process and its start time out of a name.
func parseOwner(name string) (pid int, start uint64, ok bool) {
	rest, ok := strings.CutPrefix(name, ownerPrefix)
	if !ok {
		return 0, 0, false
	}
	parts := strings.Split(rest, "_")
	if len(parts) != 2 && len(parts) != 3 {
		return 0, 0, false
	}
	for _, part := range parts {
		if strings.Trim(part, "0123456789") != "" {
			return 0, 0, false
		}
	}
	pid, err := strconv.Atoi(parts[0])
	if err != nil || pid == 0 {
		return 0, 0, false
	}
	start, err = strconv.ParseUint(parts[1], 10, 64)
	return pid, start, err == nil
}

// isRunning tells whether the process that started then still runs. Where /proc
// hides other users' processes (hidepid), kill(2) knows whether there is one,
// and it is taken for the right one.
func isRunning(pid int, start uint64) bool {
	if errors.Is(unix.Kill(pid, 0), unix.ESRCH) {
		return false
	}
	started, dead, err := startTime(strconv.Itoa(pid))
	return err != nil || started == start && !dead
}

// startTime reads when a process started, in clock ticks since boot, and
// whether it is a zombie without living threads (proc_pid_stat(5)).
func startTime(pid string) (start uint64, dead bool, err error) {
	file := pid + "/stat"
	text, err := proc.Live.ReadFile(file)
	if err != nil {
		return 0, false, err
	}
	stat, ok := proc.ParseStat(text)
	if !ok {
		return 0, false, fmt.Errorf("read %s: it has no state", proc.Live.Name(file))
	}
	return stat.Start, stat.State == 'X' || stat.Ended() && stat.Threads <= 1, nil
}
