package snapshot

import (
	"encoding/binary"
	"fmt"
	"strings"
	"time"

	"golang.org/x/sys/unix"

	"github.com/ringtap/ringtap/internal/syscalls"
)

// Holder says who holds the lock that a thread waits for.
type Holder struct {
	Lock    Lock
	PID     int    // of the process, 0 if it is unknown
	TID     int    // of the thread, 0 if only the process is known
	Name    string // of the thread or process, "" if it is unknown
	Ends    bool   // the thread waits for the holder to end: pthread_join(3)
	Ended   bool   // the thread has ended and still holds the lock
	Readers int    // number of readers of a rwlock, which does not record who they are
	Passes  bool   // the lock passed from thread to thread while ringtap looked; no holder is named

	lock, size uint64 // address and bytes of a lock in memory; 0 for a file lock
}

// IsKnown reports whether anything is known of the holder.
func (h *Holder) IsKnown() bool { return h.PID != 0 || h.TID != 0 || h.Readers > 0 || h.Passes }

// By names the holder: "thread 4242 (flusher)".
func (h *Holder) By() string {
	switch {
	case h.Passes:
		return "one thread after another"
	case h.Ended:
		return fmt.Sprintf("thread %d, which has ended", h.TID)
	case h.TID != 0:
		return fmt.Sprintf("thread %d (%s)", h.TID, h.Name)
	case h.PID != 0:
		return fmt.Sprintf("process %d (%s)", h.PID, h.Name)
	case h.Readers == 1:
		return "an unknown reader"
	case h.Readers > 1:
		return fmt.Sprintf("%d unknown readers", h.Readers)
	}
	return "an unknown holder"
}

// holders finds who holds what threads wait for.
// It knows the locks of 64-bit programs only.
func (l *look) holders() {
	if l.compat {
		return
	}
	tids := l.namespaceTIDs()
	text, _ := l.host().ReadFile("locks") // without it no holder is known
	locks := parseLocks(string(text))
	if l.opts.Stop {
		l.wordsAgain()
	}
	for _, t := range l.snapshot.Threads {
		switch name, _, _ := strings.Cut(t.Call, "("); name {
		case "futex":
			t.Holder = l.futexHolder(t, tids)
		case "fcntl", "flock":
			if h := l.lockHolder(t, locks); h != nil && l.stillWaits(t) {
				t.Holder = h
			}
		}
	}
	l.passing()
}

// passing finds the locks that a thread got after ringtap saw it wait for them. Such a
// thread is not named as the holder: the snapshot shows it waiting.
func (l *look) passing() {
	shown := make(map[int]*Thread)
	for _, t := range l.snapshot.Threads {
		shown[t.TID] = t
	}
	var passes []*Holder
	for _, t := range l.snapshot.Threads {
		if t.Holder == nil || t.Holder.size == 0 || shown[t.Holder.TID] == nil {
			continue
		}
		holder := shown[t.Holder.TID]
		waits := strings.HasPrefix(holder.Call, "futex(") && holder.Args[0]-t.Holder.lock < t.Holder.size
		if waits && (holder.Holder == nil || holder.Holder.TID != holder.TID) { // else it waits for itself
			passes = append(passes, t.Holder)
		}
	}
	for _, h := range passes {
		*h = Holder{Lock: h.Lock, Passes: true, lock: h.lock, size: h.size}
	}
}

// stillWaits reports whether t has not run since it was looked at. It looks twice: a
// thread changes its state just before the kernel counts that it stops running.
func (l *look) stillWaits(t *Thread) bool {
	for range 2 {
		now, err := l.files.read(t.TID)
		if err != nil || !t.sameWait(now) || now.switches != t.switches {
			return false
		}
	}
	return true
}

// lockWords are the bytes of a process's memory around the word that a thread waits for.
// They are read while the thread waits: the owner of a lock changes as soon as it does not.
type lockWords struct {
	addr  uint64 // of the first byte
	bytes []byte
}

// The lock of a waiting thread starts up to wordsBefore bytes before the word that the
// thread waits for, and its owner is less than wordsAfter bytes after that word.
const (
	wordsBefore = 16
	wordsAfter  = 32
)

// keepWords reads the words of the lock that t waits for. The caller checks afterwards
// that t has not run meanwhile.
func (l *look) keepWords(t *Thread) {
	if !l.opts.Locks || l.compat || !strings.HasPrefix(t.Call, "futex(") {
		return
	}
	addr := max(t.Args[0], wordsBefore) - wordsBefore
	b := make([]byte, wordsBefore+wordsAfter)
	if n := l.user.read(addr, b); n > wordsBefore {
		l.words[t] = lockWords{addr, b[:n]}
		return
	}
	// The word is at the start of the readable memory.
	addr = t.Args[0]
	l.words[t] = lockWords{addr, b[:l.user.read(addr, b)]}
}

// wordsAgain reads the words of locks after the threads were stopped, from each thread
// that is back in its wait.
func (l *look) wordsAgain() {
	end := time.Now().Add(maxResuming)
	for _, t := range l.snapshot.Threads {
		switch name, _, _ := strings.Cut(t.Call, "("); name {
		case "futex", "fcntl", "flock":
		default:
			continue
		}
		if !l.waitsAgain(t, end) {
			continue
		}
		if l.keepWords(t); !l.stillWaits(t) {
			delete(l.words, t)
		}
	}
}

// word returns a word of the lock that t waited for; 0 if it was not read.
func (l *look) word(t *Thread, addr uint64) uint32 {
	w := l.words[t]
	if at := addr - w.addr; at <= uint64(len(w.bytes)) && uint64(len(w.bytes))-at >= 4 {
		return binary.NativeEndian.Uint32(w.bytes[at:])
	}
	return 0
}

// id reads a word of the lock that t waited for and returns the id of the thread in it, or 0 if
// the word has no thread.
func (l *look) id(t *Thread, addr uint64) int { return int(l.word(t, addr) & ownerMask) }

// maxResuming is how long the threads that were stopped may take, all together, to be
// in their waits again: each has to run for that, which it does late where others have
// the CPUs.
const maxResuming = 100 * time.Millisecond

// waitsAgain reports whether a thread that was stopped meanwhile is in the same wait, or
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

// nested reports whether the process is in another pid namespace than we are.
func (l *look) nested() bool { return l.snapshot.NSPID != l.snapshot.PID }

// Where glibc keeps the owner, in bytes: in a pthread_mutex_t, which begins with the
// word that is waited on (sysdeps/nptl/bits/struct_mutex.h), and in a pthread_rwlock_t,
// of which one of the second pair of words is (struct_rwlock.h), and whose first word
// counts those that read, above some flags.
const (
	mutexOwner    = 8
	rwlockPair    = 8
	rwlockWriter  = 24
	rwlockReaders = 3  // bits below
	rwlockWords   = 16 // bytes that contain every word that is waited for
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

// joins is the kind of the word by which a thread waits for another one to end.
const joins = "pthread_join"

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
	if lock, ok := ownerless(t); ok {
		return &Holder{Lock: lock}
	}
	switch {
	case muslMutex(word, value), waits(t, "pthread_cond_", "pthread_barrier_"):
		return nil
	case waits(t, "pthread_mutex_"):
		return l.owner(t, "mutex", word, at, tids)
	case waits(t, "pthread_rwlock_"):
		return l.rwlockHolder(t, tids)
	case waits(t, "pthread_clockjoin", "pthread_timedjoin", "pthread_join"):
		kind = joins // the kernel takes the id away as the thread ends
	case at == 0 && !pi && value&waiters == 0 && !syscalls.FutexShared(t.Args):
		return nil // no lock: that it is the number of a thread is chance
	}
	if owner := tids[l.id(t, word+at)]; owner != nil && owner != t {
		return l.owner(t, kind, word, at, tids)
	}
	return nil
}

// rwlockHolder finds who has the lock that a function of pthread_rwlock_t waits for.
func (l *look) rwlockHolder(t *Thread, tids map[int]*Thread) *Holder {
	word := t.Args[0]
	lock := word - word%rwlockPair - rwlockPair
	if l.id(t, lock+rwlockWriter) != 0 {
		return l.owner(t, "rwlock", lock, rwlockWriter, tids)
	}
	if readers := l.word(t, lock) >> rwlockReaders; readers > 0 {
		return &Holder{Lock: l.lock("rwlock", lock), Readers: int(readers), lock: lock, size: rwlockWords}
	}
	return nil
}

// owner is the thread whose id in the process's pid namespace is so many bytes into a
// lock, as the holder of what a thread waits for. One that is no thread of the process
// is another's only if they share the lock, and has ended otherwise.
func (l *look) owner(waiting *Thread, kind string, lock, at uint64, tids map[int]*Thread) *Holder {
	id := l.id(waiting, lock+at)
	h := &Holder{Lock: l.lock(kind, lock), PID: l.snapshot.PID, TID: id, Ends: kind == joins, lock: lock, size: 4}
	if kind == "rwlock" {
		h.size = rwlockWords
	}
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
	if id == 0 || l.files.alive(id) || !l.stillWaits(waiting) {
		return nil // it was let go, or taken by one that began after the threads were listed
	}
	h.Ended = true
	return h
}

// waits reports whether a function of that name is among the innermost of a stack.
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

// WaitsForLock reports whether a thread waits in a function that acquires a lock.
func (t *Thread) WaitsForLock() bool {
	_, ok := ownerless(t)
	return ok || waits(t, "pthread_mutex_", "pthread_rwlock_")
}

// JavaMonitor is the kind of a lock that synchronized code of Java waits for.
const JavaMonitor = "Java monitor"

// ownerlessLocks are functions in which a thread waits for a lock that does not record its owner
// where ringtap could read it. If isWord is set, the thread waits for a word of the lock.
var ownerlessLocks = []struct {
	function, kind string
	isWord         bool
}{
	{"PyThread_acquire_lock", "Python lock", true}, // CPython's Python/thread_pthread.h
	{"_PyMutex_LockTimed", "Python lock", false},   // since 3.14, in builds that do not inline it
	{"ObjectMonitor::enter", JavaMonitor, false},   // HotSpot's runtime/objectMonitor.cpp
}

// ownerless returns the lock of an interpreter or virtual machine that a thread waits for. In
// Python the same calls wait for conditions, queues and the end of threads: these are no locks. In
// an interpreter without symbols a wait in SimpleQueue.get looks like one for a lock.
func ownerless(t *Thread) (lock Lock, ok bool) {
	for _, f := range t.User {
		if f.Runtime != "" {
			return lock, ok && !isWaitInPython(&f)
		}
		if name := strings.ToLower(f.Name); strings.HasPrefix(name, "simplequeue_") || strings.HasPrefix(name, "_queue_simplequeue") {
			return Lock{}, false
		}
		for _, known := range ownerlessLocks {
			if !strings.HasPrefix(f.Name, known.function) {
				continue
			}
			lock, ok = Lock{Kind: known.kind}, true
			if known.isWord {
				lock.Addr = t.Args[0]
			}
		}
	}
	return Lock{}, false
}

// isWaitInPython reports whether an interpreted function of CPython's library acquires a lock to wait
// for something else.
func isWaitInPython(f *Frame) bool {
	switch {
	case strings.HasSuffix(f.File, "/concurrent/futures/thread.py"), strings.HasSuffix(f.File, "/multiprocessing/pool.py"):
		return true
	case strings.HasSuffix(f.File, "/threading.py"):
		return !strings.HasSuffix(f.Name, "acquire") && !strings.HasSuffix(f.Name, "__enter__")
	}
	return false
}
