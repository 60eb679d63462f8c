package snapshot

import (
	"encoding/binary"
	"fmt"
	"strings"
	"time"

	"golang.org/x/sys/unix"

	"github.com/ringtap/ringtap/internal/syscalls"
)

// Holder is who has what a thread waits for.
type Holder struct {
	What    string // "mutex at 0x56388ecb80e0", "lock on /var/lib/x"
	PID     int    // of the process, 0 where it is not known
	TID     int    // of the thread, 0 where the process is all that is known
	Name    string // of the thread or process, "" where it is not known
	Ended   bool   // the thread has ended and has not let go
	Readers int    // that have a rwlock, which does not keep who they are
}

// By says who it is: "thread 4242 flusher".
func (h *Holder) By() string {
	switch {
	case h.Ended:
		return fmt.Sprintf("thread %d, which has ended", h.TID)
	case h.TID != 0:
		return fmt.Sprintf("thread %d %s", h.TID, h.Name)
	case h.PID != 0:
		return fmt.Sprintf("process %d %s", h.PID, h.Name)
	case h.Readers == 1:
		return "an unknown reader"
	case h.Readers > 1:
		return fmt.Sprintf("%d unknown readers", h.Readers)
	}
	return "an unknown holder"
}

// holders finds who holds what threads wait for.
func (l *look) holders() {
	tids := l.namespaceTIDs()
	text, _ := l.host().ReadFile("locks") // without it no holder is known
	locks := parseLocks(string(text))
	end := time.Now().Add(maxResuming)
	for _, t := range l.snapshot.Threads {
		switch name, _, _ := strings.Cut(t.Call, "("); {
		case name != "futex" && name != "fcntl" && name != "flock":
		case l.opts.Stop && !l.waitsAgain(t, end):
		case name == "futex":
			t.Holder = l.futexHolder(t, tids)
		default:
			t.Holder = l.lockHolder(t, locks)
		}
	}
}

// maxResuming is how long the threads that were stopped may take, all together, to be
// in their waits again: each has to run for that, which it does late where others have
// the CPUs.
const maxResuming = 100 * time.Millisecond

// waitsAgain tells whether a thread that was stopped meanwhile is in the same wait, or
// comes back to it until end. It counts from now on how often the thread runs.
func (l *look) waitsAgain(t *Thread, end time.Time) bool {
	now, err := l.files.read(t.TID)
	for ; err == nil && now.State == 'R' && time.Now().Before(end); now, err = l.files.read(t.TID) {
		time.Sleep(time.Millisecond)
	}
	if err != nil || !t.sameWait(now) {
		return false
	}
	t.switches = now.switches
	return true
}

// namespaceTIDs are the threads by what they call themselves: their id in their own
// pid namespace.
func (l *look) namespaceTIDs() map[int]*Thread {
	tids := make(map[int]*Thread)
	for _, t := range l.snapshot.Threads {
		own := t.TID
		if l.nested() {
			status, _ := l.host().Status(t.TID) // one that has ended holds nothing that it could be found by
			own = status.NSPID
		}
		tids[own] = t
	}
	return tids
}

// nested tells whether the process is in another pid namespace than we are.
func (l *look) nested() bool { return l.snapshot.NSPID != l.snapshot.PID }

// Where glibc keeps the owner, in bytes: in a pthread_mutex_t, which begins with the
// word that is waited on (sysdeps/nptl/bits/struct_mutex.h), and in a pthread_rwlock_t,
// of which one of the second pair of words is (struct_rwlock.h), and whose first word
// counts those that read, above some flags.
const (
	mutexOwner    = 8
	rwlockPair    = 8
	rwlockWriter  = 24
	rwlockReaders = 3 // bits below
)

// contended is the word of a lock that has somebody waiting and its owner elsewhere;
// ownerMask is the owner in other words, which say by waiters that somebody waits
// (linux/futex.h, FUTEX_TID_MASK, FUTEX_WAITERS).
const (
	contended = 2
	ownerMask = 0x3fffffff
	waiters   = 0x80000000
)

// muslMutex is the word of musl's usual mutex, which does not say who has it: the second
// of its words (src/thread/pthread_mutex_lock.c).
func muslMutex(word uint64, value uint32) bool {
	return word%8 == 4 && value == waiters|uint32(unix.EBUSY)
}

// futexHolder finds the owner of a lock: in the word that is waited on, where robust
// locks, those with priority inheritance and musl's have it, or where glibc keeps it.
// If the function that waits does not say what kind of lock it is, as in a library
// without symbols, only another thread of the process can be the owner.
func (l *look) futexHolder(t *Thread, tids map[int]*Thread) *Holder {
	if !syscalls.FutexWaits(t.Args) {
		return nil
	}
	word, value := t.Args[0], uint32(t.Args[2])
	pi := syscalls.FutexPI(t.Args)
	kind := "lock"
	at := uint64(0)
	if !pi && value == contended {
		at = mutexOwner
	}
	switch {
	case muslMutex(word, value), waits(t, "pthread_cond_", "pthread_barrier_"):
		return nil
	case waits(t, "pthread_mutex_"):
		return l.owner(t, "mutex", word, at, tids)
	case waits(t, "pthread_rwlock_"):
		return l.rwlockHolder(t, tids)
	case waits(t, "pthread_clockjoin", "pthread_timedjoin", "pthread_join"):
		kind = "pthread_join" // the kernel takes the id away as the thread ends
	case at == 0 && !pi && value&waiters == 0 && !syscalls.FutexShared(t.Args):
		return nil // no lock: that it is the number of a thread is chance
	}
	if owner := tids[l.id(word+at)]; owner != nil && owner != t {
		return l.owner(t, kind, word, at, tids)
	}
	return nil
}

// rwlockHolder finds who has the lock that a function of pthread_rwlock_t waits for.
func (l *look) rwlockHolder(t *Thread, tids map[int]*Thread) *Holder {
	word := t.Args[0]
	lock := word - word%rwlockPair - rwlockPair
	if l.id(lock+rwlockWriter) != 0 {
		return l.owner(t, "rwlock", lock, rwlockWriter, tids)
	}
	if readers := l.word(lock) >> rwlockReaders; readers > 0 {
		return &Holder{What: fmt.Sprintf("rwlock at %#x", lock), Readers: int(readers)}
	}
	return nil
}

// id reads the id of a thread in the process's memory; 0 if there is none.
func (l *look) id(place uint64) int { return int(l.word(place) & ownerMask) }

// word reads a word of a lock; 0 if there is none.
func (l *look) word(place uint64) uint32 {
	var b [4]byte
	if l.user.read(place, b[:]) < len(b) {
		return 0
	}
	return binary.NativeEndian.Uint32(b[:])
}

// owner is the thread whose id in the process's pid namespace is so many bytes into a
// lock, as the holder of what a thread waits for. One that is no thread of the process
// is another's only if they share the lock, and has ended otherwise.
func (l *look) owner(waiting *Thread, kind string, lock, at uint64, tids map[int]*Thread) *Holder {
	id := l.id(lock + at)
	h := &Holder{What: fmt.Sprintf("%s at %#x", kind, lock), PID: l.snapshot.PID, TID: id}
	if t := tids[id]; t != nil {
		h.TID, h.Name = t.TID, t.Comm
		return h
	}
	if l.nested() {
		return nil // its number here is not known
	}
	if status, err := l.host().Status(id); err == nil && syscalls.FutexShared(waiting.Args) {
		h.PID, h.Name = status.TGID, status.Comm
		return h
	}
	if id == 0 || l.files.alive(id) || l.id(lock+at) != id {
		return nil // it was let go, or taken by one that began after the threads were listed
	}
	h.Ended = true
	return h
}

// waits tells whether a function of that name is among the innermost of a stack.
func waits(t *Thread, prefixes ...string) bool {
	const innermost = 4
	for _, f := range t.User[:min(len(t.User), innermost)] {
		for _, prefix := range prefixes {
			if f.Runtime == "" && strings.HasPrefix(strings.TrimLeft(f.Name, "_"), prefix) {
				return true
			}
		}
	}
	return false
}
