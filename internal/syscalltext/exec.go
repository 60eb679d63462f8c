package syscalltext

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"math/bits"
	"path"
	"strings"

	"github.com/ringtap/ringtap/ftrace"
	"github.com/ringtap/ringtap/perfevent"
	"golang.org/x/sys/unix"
)

// execs finds the texts of execve(2) in what the kernel makes of them. A call that
// succeeds leaves nothing of the memory that its parameters point to, often before it can
// be read. But the kernel records the file name (sched:sched_process_exec), and the new
// program's stack begins with its arguments, of which the record has a copy.
type execs struct {
	filename, oldPID *ftrace.Field // of sched:sched_process_exec
	memory           memory
	sp               int // see reader
	threads          map[uint32]*execThread
}

// execThread is what a thread calls and what becomes of it, oldest first.
type execThread struct {
	calls []execCall
	execs []executed
	ended bool // no program of it comes any more
}

// execCall is a call of execve(2): when, and where the pointers to the arguments are.
type execCall struct{ time, argv uint64 }

// executed is a program that was started.
type executed struct {
	time     uint64
	filename string
	argv     []byte // each with a zero behind it
	late     bool   // argv was read later
	// later says that another call has started it, which searched for a program of these
	// arguments in one more directory.
	later bool
}

// execCopy is how much of the stack comes with each program that is started, bytes. The
// kernel leaves a gap of up to 8 KiB between the pointers to the arguments and these.
const execCopy = 16 << 10

// Bounds of what is kept: threads, and of each the last calls and programs. Nobody takes
// those that a filter leaves out.
const (
	maxThreads   = 1 << 12
	maxPerThread = 64
)

// last is a list without its oldest elements.
func last[T any](list []T) []T { return list[max(0, len(list)-maxPerThread):] }

// newExecs returns nil where there is no such tracepoint.
func newExecs(tracefs *ftrace.FS, r *reader) (*execs, perfevent.Sampling) {
	f, err := tracefs.Format("sched", "sched_process_exec")
	if err != nil || f.Field("filename") == nil || f.Field("old_pid") == nil {
		return nil, perfevent.Sampling{}
	}
	e := &execs{
		filename: f.Field("filename"), oldPID: f.Field("old_pid"), memory: r.memory, sp: r.sp,
		threads: make(map[uint32]*execThread),
	}
	return e, perfevent.Sampling{
		Event: perfevent.Tracepoint(uint64(f.ID), "sched:sched_process_exec"), Period: 1,
		Raw: true, UserRegs: 1 << r.sp, UserStack: execCopy, Soon: true,
	}
}

// isExec tells whether a system call's event starts a program.
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

// called takes note of a call.
func (e *execs) called(s *perfevent.Sample, argv uint64) {
	t := e.thread(s.TID)
	t.calls = last(append(t.calls, execCall{s.Time, argv}))
}

// started takes note of a program that was started. The thread may have had another
// number when it called.
func (e *execs) started(s *perfevent.Sample) {
	name, ok := e.filename.Bytes(s.Raw)
	old, known := e.oldPID.Uint(s.Raw)
	if !ok || !known {
		return
	}
	x := executed{time: s.Time, filename: string(name)}
	x.argv, x.late = e.arguments(s)
	t := e.thread(uint32(old))
	t.execs = last(append(t.execs, x))
}

// take returns the program that a call has started, or a later one by the same arguments;
// nil if none is known. Calls are taken in the order of time.
func (e *execs) take(s *perfevent.Sample, argv uint64) *executed {
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

// goesOn tells whether the thread of a call has called again or ended: the call has failed.
func (e *execs) goesOn(s *perfevent.Sample) bool {
	t := e.threads[s.TID]
	return t == nil || t.ended || len(t.calls) > 0
}

// ended takes note that a thread has ended.
func (e *execs) ended(tid uint32) {
	t := e.threads[tid]
	if t == nil {
		return
	}
	if t.ended = true; len(t.execs)+len(t.calls) == 0 {
		delete(e.threads, tid)
	}
}

// arguments finds a new program's arguments by its stack pointer: their number, pointers
// to them, a null pointer (System V ABI, "Process Initialization"). late says that some
// were not in the copy of the stack.
func (e *execs) arguments(s *perfevent.Sample) (argv []byte, late bool) {
	sp, ok := register(s, e.sp)
	if !ok {
		return nil, false
	}
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
		if i == maxElements || len(argv) > maxVector {
			return append(argv, more+"\x00"...), late
		}
		addr, found := load(1 + i)
		if ok = ok && found; !ok {
			return nil, false
		}
		if from := addr - sp; from < uint64(len(s.Stack)) {
			b := s.Stack[from:]
			if end := bytes.IndexByte(b[:min(len(b), maxText)], 0); end >= 0 {
				argv = append(argv, b[:end+1]...)
				continue
			}
		}
		before := len(argv)
		if argv, late = e.memory.appendString(argv, int(s.TID), addr, maxText), true; len(argv) == before {
			return nil, false
		}
	}
	return argv, late
}

// register is a register of a sample.
func register(s *perfevent.Sample, number int) (uint64, bool) {
	i := bits.OnesCount64(s.Regs.Mask & (1<<number - 1))
	if s.Regs.Mask>>number&1 == 0 || i >= len(s.Regs.Values) {
		return 0, false
	}
	return s.Regs.Values[i], true
}

// complete puts what is known of the program in the place of the call's texts.
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

// relative is the name that a call had been given by which, with a directory's descriptor,
// the kernel came to name a file so (alloc_bprm in fs/exec.c).
func relative(name string, fd int32) string {
	rest, ok := strings.CutPrefix(name, fmt.Sprintf("/dev/fd/%d", fd))
	if !ok || rest != "" && rest[0] != '/' {
		return name
	}
	return strings.TrimPrefix(rest, "/")
}

// called are the arguments that the call had. Of a script the kernel makes an argument of
// its interpreter, which takes the place of the first one: that is lost, and is mostly the
// script's own name.
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
