package process

import (
	"encoding/binary"
	"fmt"
	"math"
	"os"
	"sync"
	"sync/atomic"
	"time"

	"golang.org/x/sys/unix"

	"github.com/ringtap/ringtap/internal/host/proc"
)

// A just-in-time compiler puts new code where it has freed old code, and appends a line to its
// perf map. The map then has two names for one address. So a codeWatch records when lines are
// written: inotify(7) wakes its goroutine at each write, long before the table handles the
// samples of that time. See type reused.

// codeWatch watches the perf maps of a table's processes.
type codeWatch struct {
	fd      int      // of inotify
	events  *os.File // reads fd
	tick    time.Duration
	clock   func() uint64
	work    sync.WaitGroup // goroutines that read files
	changes atomic.Uint64  // counts reads after which a codeFile had changed

	mu    sync.Mutex
	files map[int32]*codeFile // by watch descriptor

	// The rest belongs to the table's goroutine.
	objects     map[*Object]struct{} // objects whose reused is set
	at          uint64               // time of the last CodeAt
	looked      uint64               // value of changes at the last CodeAt
	from, until uint64               // CodeAt changes nothing for times from ≤ at < until
}

// lookPause is how long a codeWatch pauses after reading new lines. A starting runtime writes
// thousands of lines per second, each with its own system call.
const lookPause = time.Millisecond

// newCodeWatch returns a codeWatch that takes times from clock.
func newCodeWatch(clock func() uint64) (*codeWatch, error) {
	fd, err := unix.InotifyInit1(unix.IN_CLOEXEC | unix.IN_NONBLOCK)
	if err != nil {
		return nil, fmt.Errorf("watch perf maps: %w", err)
	}
	w := &codeWatch{
		fd:      fd,
		events:  os.NewFile(uintptr(fd), "inotify"),
		tick:    fileTick(),
		clock:   clock,
		files:   make(map[int32]*codeFile),
		objects: make(map[*Object]struct{}),
		until:   math.MaxUint64,
	}
	w.work.Go(w.run)
	return w, nil
}

// close ends the watch.
func (w *codeWatch) close() {
	w.events.Close()
	w.work.Wait()
}

// run reads what processes append to their files, as they do so.
func (w *codeWatch) run() {
	var events [16 << 10]byte
	for {
		n, err := w.events.Read(events[:])
		if err != nil {
			return // closed
		}
		seen := w.clock()
		for f := range w.written(events[:n]) {
			w.read(f, seen)
		}
		time.Sleep(lookPause)
	}
}

func (w *codeWatch) read(f *codeFile, seen uint64) {
	if f.read(w, seen) {
		w.changes.Add(1)
	}
}

// written returns the files that the inotify events are about.
func (w *codeWatch) written(events []byte) map[*codeFile]struct{} {
	w.mu.Lock()
	defer w.mu.Unlock()
	files := make(map[*codeFile]struct{})
	for len(events) >= unix.SizeofInotifyEvent {
		watch := int32(binary.NativeEndian.Uint32(events))
		mask := binary.NativeEndian.Uint32(events[4:])
		size := unix.SizeofInotifyEvent + uint64(binary.NativeEndian.Uint32(events[12:]))
		events = events[min(size, uint64(len(events))):]
		if f := w.files[watch]; f != nil {
			files[f] = struct{}{}
		}
		if mask&unix.IN_Q_OVERFLOW != 0 {
			for _, f := range w.files {
				files[f] = struct{}{}
			}
		}
	}
	return files
}

// watch starts to watch an object's perf map, unless it is watched for another object. Code
// made before the last CodeAt is not new.
func (w *codeWatch) watch(o *Object) error {
	conn, err := o.perfMap.SyscallConn()
	if err != nil {
		return err
	}
	var watch int
	var watchErr error
	err = conn.Control(func(fd uintptr) {
		watch, watchErr = unix.InotifyAddWatch(w.fd, proc.Live.Descriptor(int(fd)), unix.IN_MODIFY)
	})
	if err == nil {
		err = watchErr
	}
	if err != nil {
		return fmt.Errorf("watch %s: %w", o.perfMap.name, err)
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	f := w.files[int32(watch)]
	if f == nil {
		f = &codeFile{file: o.perfMap, watch: int32(watch), begin: w.at}
		w.files[f.watch] = f
		seen := w.at
		w.work.Go(func() { w.read(f, seen) }) // the file may have megabytes
	}
	o.reused = &reused{file: f}
	w.objects[o] = struct{}{}
	return nil
}

// unwatch stops watching an object's perf map.
func (w *codeWatch) unwatch(o *Object) {
	f := o.reused.file
	o.reused = nil
	delete(w.objects, o)
	f.mu.Lock()
	f.file = nil
	for other := range w.objects {
		if other.reused.file == f {
			f.file = other.perfMap
		}
	}
	ended := f.file == nil
	f.mu.Unlock()
	if !ended {
		return
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	delete(w.files, f.watch)
	// This fails only if the file is gone. Then the kernel has removed the watch.
	_, _ = unix.InotifyRmWatch(w.fd, uint32(f.watch))
}

// fileTick returns the resolution of file times: that of the clock from which the kernel takes
// them (current_time in fs/inode.c).
func fileTick() time.Duration {
	var tick unix.Timespec
	if err := unix.ClockGetres(unix.CLOCK_REALTIME_COARSE, &tick); err != nil {
		return 10 * time.Millisecond // CONFIG_HZ=100, the longest
	}
	return time.Duration(tick.Nano())
}
