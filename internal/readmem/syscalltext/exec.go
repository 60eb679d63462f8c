package syscalltext

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"path"
	"strings"
	"sync"

	"github.com/ringtap/ringtap/ftrace"
	"github.com/ringtap/ringtap/internal/arch"
	"github.com/ringtap/ringtap/internal/readmem/athit"
	"github.com/ringtap/ringtap/perfevent"
	"golang.org/x/sys/unix"
)

// execs returns the texts of execve(2) from the program that the call starts. A call that succeeds replaces the
// memory that its parameters point to, often before it can be read. But sched:sched_process_exec records the file
// name, and its sample has a copy of the new program's stack, which starts with the arguments.
type execs struct {
	filename, oldPID *ftrace.Field // of sched:sched_process_exec
	reader           *athit.Reader
	progress         athit.Progress // wakes take

	mu      sync.Mutex
	threads map[uint32]*execThread
}

// execThread has the calls of a thread and the programs that it started, oldest first.
type execThread struct {
	calls []execCall
	execs []executed
	ended bool // it starts no more programs
}

// execCall is a call of execve(2): its time in nanoseconds, and the address of the pointers to the arguments.
type execCall struct{ time, argv uint64 }

// executed is a program that was started.
type executed struct {
	time     uint64
	filename string
	argv     []byte // each argument with its zero; nil if not read
	late     bool   // argv was read late
	// later says that a later call than the one passed to take started the program, with the same
	// arguments: a shell tries one directory after the other.
	later bool
}

// execCopy is how many bytes of a new program's stack are sampled. The kernel leaves up to 8 KiB between the
// pointers to the arguments and the arguments themselves.
const execCopy = 16 << 10

// Bounds of execs: threads, and the last calls and programs of a thread. Those of calls that a filter rejects are
// never taken.
const (
	maxThreads   = 1 << 12
	maxPerThread = 64
)

// last returns the last maxPerThread elements of a list.
func last[T any](list []T) []T { return list[max(0, len(list)-maxPerThread):] }

// newExecs also returns the sampling whose samples started takes. It returns nil if the kernel lacks
// sched:sched_process_exec or its fields.
func newExecs(tracefs *ftrace.FS, r *athit.Reader) (*execs, perfevent.Sampling) {
	f, err := tracefs.Format("sched", "sched_process_exec")
	if err != nil || f.Field("filename") == nil || f.Field("old_pid") == nil {
		return nil, perfevent.Sampling{}
	}
	e := &execs{
		filename: f.Field("filename"), oldPID: f.Field("old_pid"), reader: r,
		progress: athit.NewProgress(), threads: make(map[uint32]*execThread),
	}
	return e, perfevent.Sampling{
		Event: perfevent.Tracepoint(uint64(f.ID), "sched:sched_process_exec"), Period: 1,
		Raw: true, UserRegs: arch.Mask(arch.Here.SP), UserStack: execCopy, WakeupEvents: 1,
	}
}

// isExec reports whether a system call's event starts a program.
func isExec(f *ftrace.Format) bool {
	return f.System == "syscalls" && (f.Name == enterPrefix+"execve" || f.Name == enterPrefix+"execveat")
}

func (e *execs) thread(tid uint32) *execThread {
	t := e.threads[tid]
	if t == nil {
		if len(e.threads) >= maxThreads {
			clear(e.threads)
		}
		t = &execThread{}
		e.threads[tid] = t
	}
	return t
}

// called notes a call of execve(2).
func (e *execs) called(s *perfevent.Sample, argv uint64) {
	e.mu.Lock()
	defer e.mu.Unlock()
	defer e.progress.Announce()
	t := e.thread(s.TID)
	t.calls = last(append(t.calls, execCall{s.Time, argv}))
}

// started notes a program that was started. The thread may have had another ID when it called: see old_pid.
func (e *execs) started(s *perfevent.Sample) {
	name, ok := e.filename.Bytes(s.Raw)
	old, known := e.oldPID.Uint(s.Raw)
	if !ok || !known {
		return
	}
	x := executed{time: s.Time, filename: string(name)}
	x.argv, x.late = e.arguments(s)
	e.mu.Lock()
	defer e.mu.Unlock()
	defer e.progress.Announce()
	t := e.thread(uint32(old))
	t.execs = last(append(t.execs, x))
}

// take returns the program that a call started, or that a later call with the same arguments started. It returns
// nil if none is known, or if certain is true: the call's texts are known without the program. Calls must be taken
// in time order.
func (e *execs) take(s *perfevent.Sample, argv uint64, certain bool) (x *executed) {
	e.progress.Wait(s.Time, func() bool {
		e.mu.Lock()
		defer e.mu.Unlock()
		x = e.find(s, argv)
		return certain || x != nil || e.goesOn(s)
	})
	if certain {
		return nil
	}
	return x
}

// find is take without the wait. The caller of find and goesOn holds the lock.
func (e *execs) find(s *perfevent.Sample, argv uint64) *executed {
	t := e.threads[s.TID]
	if t == nil {
		return nil
	}
	for len(t.calls) > 0 && t.calls[0].time <= s.Time {
		t.calls = t.calls[1:]
	}
	for len(t.execs) > 0 && t.execs[0].time <= s.Time {
		t.execs = t.execs[1:]
	}
	if len(t.execs)+len(t.calls) == 0 && t.ended {
		delete(e.threads, s.TID)
	}
	if len(t.execs) == 0 {
		return nil
	}
	x := t.execs[0]
	for _, call := range t.calls {
		if call.time > x.time {
			break
		}
		if x.later = true; call.argv != argv {
			return nil
		}
	}
	return &x
}

// goesOn reports whether the thread of a call has called again or ended, so that the call has failed.
func (e *execs) goesOn(s *perfevent.Sample) bool {
	t := e.threads[s.TID]
	return t == nil || t.ended || len(t.calls) > 0
}

// ended notes that a thread has ended.
func (e *execs) ended(tid uint32) {
	e.mu.Lock()
	defer e.mu.Unlock()
	defer e.progress.Announce()
	t := e.threads[tid]
	if t == nil {
		return
	}
	if t.ended = true; len(t.execs)+len(t.calls) == 0 {
		delete(e.threads, tid)
	}
}

// arguments returns a new program's arguments. The stack starts with their number, the pointers to them and a null
// pointer (System V ABI, "Process Initialization"). late says that some were not in the copy of the stack.
func (e *execs) arguments(s *perfevent.Sample) (argv []byte, late bool) {
	word := 8
	if s.Regs.ABI == unix.PERF_SAMPLE_REGS_ABI_32 {
		word = 4
	}
	load := func(i uint64) (uint64, bool) {
		from := i * uint64(word)
		if from+uint64(word) > uint64(len(s.Stack)) {
			return 0, false
		}
		if word == 4 {
			return uint64(binary.LittleEndian.Uint32(s.Stack[from:])), true
		}
		return binary.LittleEndian.Uint64(s.Stack[from:]), true
	}
	argc, ok := load(0)
	for i := range argc {
		if i == maxArguments || len(argv) > 2*maxText {
			return append(argv, athit.More+"\x00"...), late
		}
		addr, found := load(1 + i)
		if !ok || !found {
			return nil, false
		}
		f := e.reader.Find(s, &athit.Pointer{Limit: maxText}, addr)
		if !f.Read {
			return nil, false
		}
		argv, late = append(argv, terminated(f, maxText, false)...), late || f.Certainty == athit.Late
	}
	return argv, late
}

// maxArguments is how many arguments of a program are read.
const maxArguments = 32

// complete replaces the call's texts with the program's, unless the call's own are more certain.
func (x *executed) complete(e *event, raw []byte, texts []text) {
	name := x.filename
	if fd := e.layout.format.Field("fd"); fd != nil { // execveat(2)
		if n, ok := fd.Uint(raw); ok {
			name = relative(name, int32(n))
		}
	}
	for i, p := range e.layout.params {
		switch {
		case p.Vector && len(x.argv) > 0:
			argv, late := x.called()
			if late = late || x.later; !late || len(texts[i].bytes) == 0 {
				texts[i] = text{argv, late || x.late}
			}
		case p.Name == "filename" && !x.later:
			texts[i] = text{bytes: append([]byte(name), 0)}
		}
	}
}

// relative returns the name that a call of execveat(2) was given. name is what the kernel made of it: /dev/fd/FD/NAME
// if the call used the directory descriptor fd (alloc_bprm in fs/exec.c).
func relative(name string, fd int32) string {
	rest, ok := strings.CutPrefix(name, fmt.Sprintf("/dev/fd/%d", fd))
	if !ok || rest != "" && rest[0] != '/' {
		return name
	}
	return strings.TrimPrefix(rest, "/")
}

// called returns the arguments of the call. For a script, the kernel replaces the first argument with the
// interpreter, its option and the script's name. That argument is lost. It mostly is the script's name, so called
// guesses that.
func (x *executed) called() (argv []byte, guessed bool) {
	args := bytes.SplitAfter(x.argv, []byte{0})
	first := strings.TrimSuffix(string(args[0]), "\x00")
	if first == x.filename || first == path.Base(x.filename) {
		return x.argv, false
	}
	for i := 1; i <= 2 && i < len(args); i++ {
		if string(args[i]) == x.filename+"\x00" {
			return bytes.Join(args[i:], nil), true
		}
	}
	return x.argv, false
}
