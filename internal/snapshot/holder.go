package snapshot

import (
	"encoding/binary"
	"fmt"
	"strings"
	"time"

	"golang.org/x/sys/unix"

	"github.com/ringtap/ringtap/internal/snapshot/syscalls"
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

// IsKnown reports whether anything is known about the holder.
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

// holders finds who holds what threads wait for. It supports locks of 64-bit programs only.
func (l *look) holders() {
	if l.compat {
		return
	}
	tids := l.namespaceTIDs()
	text, _ := l.host().ReadFile("locks") // without it, no holder of a file lock is known
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
		waits := strings.HasPrefix(holder.Call, "futex(") && holder.args[0]-t.Holder.lock < t.Holder.size
		if waits && (holder.Holder == nil || holder.Holder.TID != holder.TID) { // otherwise it waits for itself
			passes = append(passes, t.Holder)
		}
	}
	for _, h := range passes {
		*h = Holder{Lock: h.Lock, Passes: true, lock: h.lock, size: h.size}
	}
}

// stillWaits reports whether t has not run since ringtap looked at it. It looks twice: a
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

// lockWords is a copy of the process's memory around the futex word that a thread waits for. It
// must be read while the thread waits, because the owner changes as soon as the thread continues.
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
	addr := max(t.args[0], wordsBefore) - wordsBefore
	b := make([]byte, wordsBefore+wordsAfter)
	if n := l.user.read(addr, b); n > wordsBefore {
		l.words[t] = lockWords{addr, b[:n]}
		return
	}
	// The bytes before the futex word can't be read: the lock is at the start of its mapping.
	addr = t.args[0]
	l.words[t] = lockWords{addr, b[:l.user.read(addr, b)]}
}

// wordsAgain reads the words of locks again after the threads were stopped, for each thread
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

// word returns a word of the lock that t waited for, or 0 if it was not read.
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

// maxResuming is how long all threads together may take to return to their waits after a stop. To
// return, each thread must get a CPU, which takes time if the CPUs are busy.
const maxResuming = 100 * time.Millisecond

// waitsAgain reports whether a thread that was stopped is in the same wait, or returns to it before
// end. It also sets t.switches to the new count.
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

// namespaceTIDs returns the threads by their ids in their own PID namespace.
func (l *look) namespaceTIDs() map[int]*Thread {
	tids := make(map[int]*Thread)
	for _, t := range l.snapshot.Threads {
		own := t.TID
		if l.nested() {
			status, _ := l.host().Status(t.TID) // a thread that has ended cannot be found by its id
			own = status.NSPID
		}
		tids[own] = t
	}
	return tids
}

// nested reports whether the process is in another PID namespace than ringtap.
func (l *look) nested() bool { return l.snapshot.NSPID != l.snapshot.PID }

// Where glibc keeps the owner, as offsets in bytes. A pthread_mutex_t starts with the word that
// threads wait for (sysdeps/nptl/bits/struct_mutex.h). In a pthread_rwlock_t, threads wait for a
// word of the second pair (struct_rwlock.h). Its first word has the number of readers above some
// flag bits.
const (
	mutexOwner    = 8
	rwlockPair    = 8
	rwlockWriter  = 24
	rwlockReaders = 3  // flag bits below the number of readers
	rwlockWords   = 16 // bytes that contain every word that threads wait for
)

// contended is the value of a lock word if threads wait and the owner is stored elsewhere.
// ownerMask masks the owner's thread id in words that contain it, and waiters is their flag for
// waiting threads (FUTEX_TID_MASK and FUTEX_WAITERS in linux/futex.h).
const (
	contended = 2
	ownerMask = 0x3fffffff
	waiters   = 0x80000000
)

// muslMutex reports whether word is the second word of musl's usual mutex, which does not contain
// the owner (src/thread/pthread_mutex_lock.c).
func muslMutex(word uint64, value uint32) bool {
	return word%8 == 4 && value == waiters|uint32(unix.EBUSY)
}

// joins is the kind of a word through which a thread waits for another thread to end.
const joins = "pthread_join"

// futexHolder returns the owner of the lock that a thread waits for, or nil. Robust locks,
// priority-inheritance locks and musl's locks store the owner in the futex word. glibc's other
// locks store it elsewhere. If no function on the stack tells the kind of lock, as in a library
// without symbols, only another thread of the process counts as the owner.
func (l *look) futexHolder(t *Thread, tids map[int]*Thread) *Holder {
	if !syscalls.FutexWaits(t.args) {
		return nil
	}
	word, value := t.args[0], uint32(t.args[2])
	pi := syscalls.FutexPI(t.args)
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
		kind = joins // the kernel clears the id when the thread ends
	case at == 0 && !pi && value&waiters == 0 && !syscalls.FutexShared(t.args):
		return nil // no lock: its value may equal a thread id by chance
	}
	if owner := tids[l.id(t, word+at)]; owner != nil && owner != t {
		return l.owner(t, kind, word, at, tids)
	}
	return nil
}

// rwlockHolder returns who holds the pthread_rwlock_t that a thread waits for, or nil.
func (l *look) rwlockHolder(t *Thread, tids map[int]*Thread) *Holder {
	word := t.args[0]
	lock := word - word%rwlockPair - rwlockPair
	if l.id(t, lock+rwlockWriter) != 0 {
		return l.owner(t, "rwlock", lock, rwlockWriter, tids)
	}
	if readers := l.word(t, lock) >> rwlockReaders; readers > 0 {
		return &Holder{Lock: l.lock("rwlock", lock), Readers: int(readers), lock: lock, size: rwlockWords}
	}
	return nil
}

// owner returns the holder of the lock that waiting waits for. The word at offset contains the
// holder's thread id in the process's PID namespace. If no thread of the process has that id and
// the lock is shared, the holder is in another process. Otherwise the holder has ended.
func (l *look) owner(waiting *Thread, kind string, lock, offset uint64, tids map[int]*Thread) *Holder {
	id := l.id(waiting, lock+offset)
	h := &Holder{Lock: l.lock(kind, lock), PID: l.snapshot.PID, TID: id, Ends: kind == joins, lock: lock, size: 4}
	if kind == "rwlock" {
		h.size = rwlockWords
	}
	if t := tids[id]; t != nil {
		h.TID, h.Name = t.TID, t.Comm
		return h
	}
	if l.nested() {
		return nil // the holder's id outside its namespace is unknown
	}
	if status, err := l.host().Status(id); err == nil && syscalls.FutexShared(waiting.args) {
		h.PID, h.Name = status.TGID, status.Comm
		return h
	}
	if id == 0 || l.files.alive(id) || !l.stillWaits(waiting) {
		return nil // released, or taken by a thread that started after the threads were listed
	}
	h.Ended = true
	return h
}

// waits reports whether one of the innermost functions on the stack has a name with one of these
// prefixes.
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
// Python, waits for conditions, queues and the end of threads use the same calls, but are no locks.
// Without the interpreter's symbols, a wait in SimpleQueue.get is mistaken for a lock.
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
				lock.Addr = t.args[0]
			}
		}
	}
	return Lock{}, false
}

// isWaitInPython reports whether f is a function of CPython's library that acquires a lock in order
// to wait for something else.
func isWaitInPython(f *Frame) bool {
	switch {
	case strings.HasSuffix(f.File, "/concurrent/futures/thread.py"), strings.HasSuffix(f.File, "/multiprocessing/pool.py"):
		return true
	case strings.HasSuffix(f.File, "/threading.py"):
		return !strings.HasSuffix(f.Name, "acquire") && !strings.HasSuffix(f.Name, "__enter__")
	}
	return false
}
