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

	"github.com/ringtap/ringtap/internal/proc"
	"github.com/ringtap/ringtap/internal/process"
)

// Thread is one thread as it was found.
type Thread struct {
	TID   int
	Comm  string // raw bytes of its name
	State byte   // proc_pid_stat(5): 'R' running, 'S' sleeping, 'D' in disk sleep, 'T' stopped, 't' traced, 'Z' a zombie, 'I' idle

	// Waited is how long the thread has been off the CPUs, by the clock of the one that
	// it left, which stands still while a hypervisor runs others; zero if Known is not
	// set.
	Waited time.Duration
	Known  bool

	Number int       // of the system call that it is in; -1 if in none
	Args   [6]uint64 // of that call
	Call   string    // the call in words, "" if in none

	Kernel []string // the kernel's functions, leaf first: "do_wait+0x74/0xf0"
	Wchan  string   // where it sleeps in the kernel, where the stack may not be read
	User   []Frame  // the user stack, leaf first
	// Truncated says that the callers of the last user frame are not known.
	Truncated bool
	// Uninterpreted says why functions of a runtime are not in User that the thread is in,
	// "" if they are, or it is in none.
	Uninterpreted string
	// Sampled says that the stacks are a sample of a thread that runs.
	Sampled bool
	// Holder is who has the lock that the thread waits for; nil where there is none,
	// it was not looked for, or that can't be known.
	Holder *Holder
	// Missing says why there is no user stack, "" if there is one or none to be had.
	Missing string

	pc, sp   uint64
	switches uint64 // how often it was switched to, 0 if not known
	kernel   bool   // it is a thread of the kernel
}

// errGone says that a thread has ended.
var errGone = errors.New("the thread has ended")

// threadFiles reads the files of threads of a process.
type threadFiles struct {
	host   process.Host
	pid    int
	clocks clocks
	deny   struct{ stack, syscall error } // why these may not be read
}

// alive reports whether there still is that thread.
func (f *threadFiles) alive(tid int) bool {
	_, err := os.Stat(f.host.Path(f.pid, "task/"+strconv.Itoa(tid)))
	return err == nil
}

func (f *threadFiles) file(tid int, name string) ([]byte, error) {
	text, err := f.host.Read(f.pid, "task/"+strconv.Itoa(tid)+"/"+name)
	var path *fs.PathError
	if errors.As(err, &path) {
		err = path.Err // it is the same for all threads
	}
	return text, err
}

// read reads what the kernel tells of a thread, but for its stacks.
func (f *threadFiles) read(tid int) (*Thread, error) {
	t := &Thread{TID: tid, Number: -1}
	text, err := f.file(tid, "stat")
	if err != nil {
		return nil, errGone
	}
	stat, ok := proc.ParseStat(text)
	if !ok {
		return nil, fmt.Errorf("thread %d: %q is no stat file", tid, text)
	}
	t.Comm, t.State, t.kernel = stat.Comm, stat.State, stat.Flags&kernelThread != 0
	f.schedule(t, stat.CPU)
	text, err = f.file(tid, "syscall")
	if err != nil {
		f.deny.syscall = err
		return t, nil
	}
	t.parseCall(string(text))
	return t, nil
}

// parseCall reads the text of a syscall file (proc_pid_syscall(5)).
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
	case 2: // "-1 sp pc": it waits in the kernel, but in no system call
		t.sp, t.pc = words[0], words[1]
	case 8:
		number, err := strconv.Atoi(fields[0])
		if err != nil || words[7] == 0 { // a thread of the kernel has no user code
			return
		}
		t.Number, t.Args = number, [6]uint64(words)
		t.sp, t.pc = words[6], words[7]
	}
}

// schedule reads when the thread ran last, and how often it did: the sched file, which
// Linux shows with CONFIG_SCHED_DEBUG; without it status tells how often.
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
	if t.State == 'R' {
		return
	}
	if now, ok := f.clocks.now(cpu); ok {
		t.Waited, t.Known = max(now-ran, 0), true
	}
}

// kernelThread is the flag of threads of the kernel (linux/sched.h, PF_KTHREAD).
const kernelThread = 0x200000

// schedValue reads a line of milliseconds of a sched file.
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

// kernelStack reads the thread's kernel stack, or where it sleeps where that may not
// be read.
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
