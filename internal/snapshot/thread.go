package snapshot

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"strconv"
	"strings"
	"time"

	"github.com/ringtap/ringtap/internal/process"
)

// Thread is the state of one thread.
type Thread struct {
	TID   int
	Comm  string // raw bytes of its name
	State byte   // proc_pid_stat(5): 'R' running, 'S' sleeping, 'D' in disk sleep, 'T' stopped, 't' traced, 'Z' a zombie, 'I' idle

	// Waited is how long the thread has been off the CPUs; 0 if Known is not set. It is measured by
	// the clock of the CPU that it left, which stops while a hypervisor runs other guests.
	Waited time.Duration
	Known  bool

	number int       // number of its system call; -1 if it is in none
	args   [6]uint64 // of that call
	Call   string    // the call in words, "" if it is in none

	Kernel []string // functions in the kernel, innermost first: "do_wait+0x74/0xf0"
	Wchan  string   // the kernel function where it sleeps, if the stack may not be read
	User   []Frame  // the user stack, innermost first
	// Truncated says that the callers of the last user frame are unknown.
	Truncated bool
	// Uninterpreted says why User lacks interpreted functions. It is "" if User has them or there
	// are none.
	Uninterpreted string
	// Sampled says that the thread runs and its stacks are a sample.
	Sampled bool
	// Holder is who holds the lock that the thread waits for. It is nil if there is no lock, the
	// holder is unknown, or nobody looked for it.
	Holder *Holder
	// Missing says why there is no user stack. It is "" if there is one or the thread has none.
	Missing string

	pc, sp   uint64
	switches uint64 // number of context switches, 0 if unknown
	kernel   bool   // it is a kernel thread
}

// errGone is returned for a thread that has ended.
var errGone = errors.New("the thread has ended")

// threadFiles reads the /proc files of a process's threads.
type threadFiles struct {
	host   process.Host
	pid    int
	clocks clocks
	deny   struct{ stack, syscall error } // why these files may not be read, or nil
}

// alive reports whether a thread still exists.
func (f *threadFiles) alive(tid int) bool {
	_, err := os.Stat(f.host.Path(f.pid, "task/"+strconv.Itoa(tid)))
	return err == nil
}

func (f *threadFiles) file(tid int, name string) ([]byte, error) {
	text, err := f.host.Read(f.pid, "task/"+strconv.Itoa(tid)+"/"+name)
	var path *fs.PathError
	if errors.As(err, &path) {
		err = path.Err // without the path, the same for all threads
	}
	return text, err
}

// read reads everything that /proc has about a thread, except its stacks.
func (f *threadFiles) read(tid int) (*Thread, error) {
	t := &Thread{TID: tid, number: -1}
	stat, err := f.host.Stat(fmt.Sprintf("%d/task/%d", f.pid, tid))
	if errors.As(err, new(*fs.PathError)) {
		return nil, errGone
	}
	if err != nil {
		return nil, err
	}
	t.Comm, t.State, t.kernel = stat.Comm, stat.State, stat.Flags&kernelThread != 0
	f.schedule(t, stat.CPU)
	text, err := f.file(tid, "syscall")
	if err != nil {
		f.deny.syscall = err
		return t, nil
	}
	t.parseCall(string(text))
	return t, nil
}

// parseCall parses a syscall file (proc_pid_syscall(5)).
func (t *Thread) parseCall(text string) {
	fields := strings.Fields(text)
	var words []uint64
	for _, field := range fields[min(1, len(fields)):] {
		word, err := strconv.ParseUint(field, 0, 64)
		if err != nil {
			return
		}
		words = append(words, word)
	}
	switch len(words) {
	case 2: // "-1 sp pc": it waits in the kernel, but not in a system call
		t.sp, t.pc = words[0], words[1]
	case 8:
		number, err := strconv.Atoi(fields[0])
		if err != nil || words[7] == 0 { // a kernel thread has no user code
			return
		}
		t.number, t.args = number, [6]uint64(words)
		t.sp, t.pc = words[6], words[7]
	}
}

// schedule reads when the thread last ran and how often. The sched file has both, but needs
// CONFIG_SCHED_DEBUG. Without it, status has how often.
func (f *threadFiles) schedule(t *Thread, cpu int) {
	text, err := f.file(t.TID, "sched")
	if err != nil {
		if status, err := f.host.Status(t.TID); err == nil {
			t.switches = status.Switches
		}
		return
	}
	ran, ok := schedValue(text, "se.exec_start")
	if !ok {
		return
	}
	t.switches, _ = schedCount(text, "nr_switches")
	// It is 0 for a thread that moved to another CPU and has not run there yet
	// (migrate_task_rq_fair in kernel/sched/fair.c). Since Linux 6.12 sleeping threads are moved
	// too: those that stay queued for a while after they went to sleep.
	if t.State == 'R' || ran == 0 {
		return
	}
	if now, ok := f.clocks.now(cpu); ok {
		t.Waited, t.Known = max(now-ran, 0), true
	}
}

// kernelThread is the flag of kernel threads (PF_KTHREAD in linux/sched.h).
const kernelThread = 0x200000

// schedValue returns a value of a sched file that is in milliseconds.
func schedValue(text []byte, name string) (time.Duration, bool) {
	value, ok := schedLine(text, name)
	if !ok {
		return 0, false
	}
	ms, err := strconv.ParseFloat(value, 64)
	return time.Duration(ms * float64(time.Millisecond)), err == nil
}

func schedCount(text []byte, name string) (uint64, bool) {
	value, ok := schedLine(text, name)
	if !ok {
		return 0, false
	}
	n, err := strconv.ParseUint(value, 10, 64)
	return n, err == nil
}

func schedLine(text []byte, name string) (string, bool) {
	for line := range bytes.Lines(text) {
		key, value, found := bytes.Cut(line, []byte(":"))
		if found && string(bytes.TrimSpace(key)) == name {
			return string(bytes.TrimSpace(value)), true
		}
	}
	return "", false
}

// kernelStack reads the thread's kernel stack. If it may not be read, it reads the function where
// the thread sleeps.
func (f *threadFiles) kernelStack(t *Thread) {
	text, err := f.file(t.TID, "stack")
	if err != nil {
		f.deny.stack = err
		if wchan, err := f.file(t.TID, "wchan"); err == nil && string(wchan) != "0" {
			t.Wchan = string(wchan)
		}
		return
	}
	for line := range strings.Lines(string(text)) {
		if _, name, ok := strings.Cut(strings.TrimSpace(line), "] "); ok {
			t.Kernel = append(t.Kernel, name)
		}
	}
}
