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

	"github.com/ringtap/ringtap/internal/host/proc"
)

// The names of ringtap's events and instances in tracefs contain their owner. Another process
// that finds them must know whether the owner is still alive. There are two signs; the owner is
// dead only if both say so:
//
// A lock. The owner holds an open file description lock (fcntl_locking(2)) on one byte of the
// file tracing_on, at an offset derived from the name. The kernel drops it when the process
// dies, no matter how. The lock makes it safe to share tracefs between containers: the pid of a
// ringtap in another pid namespace means nothing here, or means another process. But the lock
// is on the one inode that all containers share.
//
// The process. If a process with that pid and start time runs and is not a zombie, it is alive.
// This protects groups that somebody made by hand, without a lock.
//
// The lock also distinguishes two groups of one process.
const ownerPrefix = "ringtap_"

type owner struct {
	name string
	lock *os.File // holds the lock while it is open
}

// own reserves a name that no other process has.
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

// isMine reports whether own created the name in this process.
func isMine(name string) bool {
	pid, start, ok := parseOwner(name)
	if !ok || pid != os.Getpid() {
		return false
	}
	own, _, err := startTime("self")
	return err == nil && start == own
}

func (o *owner) release() { o.lock.Close() }

// lockPlace returns a write lock on the byte that belongs to a name.
func lockPlace(name string) unix.Flock_t {
	hash := fnv.New64a()
	hash.Write([]byte(name))
	return unix.Flock_t{Type: unix.F_WRLCK, Start: int64(hash.Sum64() >> 2), Len: 1}
}

// isStale reports whether own created the name in a process that is dead.
func (t *FS) isStale(name string) bool {
	pid, start, ok := parseOwner(name)
	return ok && !isRunning(pid, start) && !t.isLocked(name)
}

// isLocked reports whether the name's lock is held. If it cannot find out, it returns true.
func (t *FS) isLocked(name string) bool {
	f, err := os.Open(filepath.Join(t.dir, "tracing_on"))
	if err != nil {
		return true
	}
	defer f.Close()
	place := lockPlace(name)
	return unix.FcntlFlock(f.Fd(), unix.F_OFD_GETLK, &place) != nil || place.Type != unix.F_UNLCK
}

// parseOwner returns the pid and the start time in a name.
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

// isRunning reports whether the process with that pid and start time is alive. If /proc hides
// other users' processes (hidepid), it can only test with kill(2) whether any process has the
// pid.
func isRunning(pid int, start uint64) bool {
	if errors.Is(unix.Kill(pid, 0), unix.ESRCH) {
		return false
	}
	started, dead, err := startTime(strconv.Itoa(pid))
	return err != nil || started == start && !dead
}

// startTime returns when a process started, in clock ticks since boot, and whether it is a
// zombie without living threads (proc_pid_stat(5)).
func startTime(pid string) (start uint64, dead bool, err error) {
	stat, err := proc.Live.Stat(pid)
	if err != nil {
		return 0, false, err
	}
	return stat.Start, stat.State == 'X' || stat.Ended() && stat.Threads <= 1, nil
}
