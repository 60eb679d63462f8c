// Package io is the collector of the bytes that system calls move and the time they take.
package io

import (
	"encoding/binary"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"math"
	"slices"

	"golang.org/x/sys/unix"

	"github.com/ringtap/ringtap/ftrace"
	"github.com/ringtap/ringtap/internal/process"
	"github.com/ringtap/ringtap/internal/profile"
	"github.com/ringtap/ringtap/internal/stack"
	"github.com/ringtap/ringtap/internal/table"
	"github.com/ringtap/ringtap/perfevent"
)

// Collector is the io collector: the bytes that system calls moved, how many calls moved
// some or none, how long threads were inside, and the calls that failed, by the
// stack of the call. Calls that the program makes again (see isRetry) count with their time
// only.
//
// The two tracepoints of all system calls, with the numbers that matter as a
// filter, are two events for each thread that is watched and not forty. The entry
// carries the stack, so that a call which is under way when a window ends counts
// its time up to there, and the exit as little as it can.
//
// A call that was under way when the run began has no stack; its time counts from
// the run's begin. System calls of 32-bit programs have other numbers, and are left
// out.
type Collector struct {
	formats Formats
	by      By
	stacks  stack.Stacks

	id, args    *ftrace.Field // of the entry
	outID, ret  *ftrace.Field // of the exit
	sent, got   *ftrace.Field // of the sockets'
	known       map[uint32]bool
	calls       map[uint32]*ioCall // by thread
	descriptors *descriptors       // nil unless rows are split by what is behind them
	uring       *uring             // nil where the kernel does not tell of its requests
	uringUsers  map[uint32]string  // the names of processes that use it
	opens       *opens             // nil where paths are not read
	kinds       []int              // of the samplings
	lossy       bool               // records were lost: an exit without an entry says nothing
	retries     counter            // calls that were to be made again: see isRetry
}

// Formats are the tracepoints that the collector reads.
type Formats struct {
	Enter, Exit *ftrace.Format // raw_syscalls:sys_enter and sys_exit
	// Sent and Received are sock:sock_send_length and sock_recv_length, nil where
	// the kernel has none (before Linux 6.3). They alone tell how many bytes
	// sendmmsg(2) and recvmmsg(2) move, whose results are messages.
	Sent, Received *ftrace.Format
	// Submit and Complete are io_uring:io_uring_submit_req and io_uring_complete, nil
	// where the kernel has none.
	Submit, Complete *ftrace.Format
}

// ioCall is the system call that a thread is in, or was in last.
type ioCall struct {
	under bool // it is under way
	call  *ioCalled
	row   table.Row
	since uint64 // what of its time has not been added yet begins here
	bytes uint64 // of its messages, where the result does not tell
	most  uint64 // bytes that it can move

	unnamed bool // the row's label says closed, or only that it is a file: its name is not known
}

// The columns.
const (
	ioSize = iota
	ioCount
	ioTime
	ioErrors
	ioRead
	ioWritten
)

// The kinds of samplings; all but the first two may be missing.
const (
	ioEnter = iota
	ioExit
	ioSent
	ioReceived
	ioSubmit
	ioComplete
	ioOpen
)

var _ table.Stateful = (*Collector)(nil)

// ReadFormats reads the tracepoints' formats.
func ReadFormats(tracefs *ftrace.FS) (formats Formats, err error) {
	if formats.Enter, err = tracefs.Format("raw_syscalls", "sys_enter"); err != nil {
		return formats, err
	}
	if formats.Exit, err = tracefs.Format("raw_syscalls", "sys_exit"); err != nil {
		return formats, err
	}
	formats.Sent, err = tracefs.Format("sock", "sock_send_length")
	if err == nil {
		formats.Received, err = tracefs.Format("sock", "sock_recv_length")
	}
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return formats, err
	}
	return formats, formats.readURing(tracefs)
}

// New makes an io collector of a machine's run that begins now.
func New(host process.Host, formats Formats, by By, stacks stack.Stacks) (*Collector, error) {
	c := &Collector{formats: formats, by: by, stacks: stacks, known: make(map[uint32]bool), calls: make(map[uint32]*ioCall),
		uring: newURing(&formats), uringUsers: make(map[uint32]string), kinds: []int{ioEnter, ioExit}}
	c.id, c.args = formats.Enter.Field("id"), formats.Enter.Field("args")
	c.outID, c.ret = formats.Exit.Field("id"), formats.Exit.Field("ret")
	if c.id == nil || c.args == nil || c.outID == nil || c.ret == nil {
		return nil, fmt.Errorf("this kernel's raw_syscalls:sys_enter and sys_exit have no fields id, args and ret")
	}
	if formats.Sent != nil && formats.Received != nil {
		c.sent, c.got = formats.Sent.Field("ret"), formats.Received.Field("ret")
	}
	if c.sent != nil && c.got != nil {
		c.kinds = append(c.kinds, ioSent, ioReceived)
	}
	if c.uring != nil {
		c.kinds = append(c.kinds, ioSubmit, ioComplete)
	}
	if by != ByNothing {
		c.descriptors = newDescriptors(host, by)
	}
	return c, nil
}

// Look looks up what the descriptors of a process are, if that matters, before it
// goes on.
func (c *Collector) Look(pid int) {
	if c.descriptors != nil {
		c.descriptors.lookAll(uint32(pid))
	}
}

// Plan is the two tracepoints of system calls, the two of sockets, and the two of
// io_uring.
func (c *Collector) Plan() table.Plan {
	stacks := c.stacks.Copying(stack.StormCopy)
	p := table.Plan{
		Name: "io", Event: "raw_syscalls:sys_enter", Who: c.by.who(), Stacks: stacks, Ordered: true,
		Metrics: []profile.Metric{
			{Name: "IOSize", Type: "io", Unit: "bytes", Scale: 1},
			{Name: "IOCount", Type: "operations", Unit: "counts", Scale: 1},
			{Name: "IOTime", Type: "io-time", Unit: "nanoseconds", Scale: 1},
			{Name: "IOErrors", Type: "failures", Unit: "counts", Scale: 1},
			{Name: "IORead", Type: "read", Unit: "bytes", Scale: 1},
			{Name: "IOWritten", Type: "written", Unit: "bytes", Scale: 1},
		},
	}
	sampling := func(format *ftrace.Format, filter string) perfevent.Sampling {
		return perfevent.Sampling{Event: perfevent.Tracepoint(uint64(format.ID), format.System+":"+format.Name), Period: 1, Raw: true, Filter: filter}
	}
	// One register is enough to tell 32-bit code.
	const oneRegister = 1
	var others, making []int64
	if c.uring == nil {
		others = append(others, unix.SYS_IO_URING_ENTER)
	}
	if c.by == ByType || c.by == ByFile {
		others, making = slices.AppendSeq(others, maps.Keys(closingCalls)), slices.AppendSeq(slices.Collect(maps.Keys(makingCalls)), maps.Keys(pairCalls))
	}
	enter := sampling(c.formats.Enter, anyOf("id", ioNumbers(others...)))
	enter.UserRegs = oneRegister
	stacks.Prepare(&enter)
	exit := sampling(c.formats.Exit, anyOf("id", ioNumbers(making...)))
	exit.UserRegs = oneRegister
	p.Samplings = []perfevent.Sampling{enter, exit}
	if c.sent != nil && c.got != nil {
		p.Samplings = append(p.Samplings, sampling(c.formats.Sent, "ret > 0"), sampling(c.formats.Received, "ret > 0"))
	}
	if c.uring != nil {
		submit := sampling(c.formats.Submit, anyOf("opcode", movingRequests))
		stacks.Prepare(&submit)
		p.Samplings = append(p.Samplings, submit, sampling(c.formats.Complete, ""))
	}
	if c.opens != nil {
		p.Samplings = append(p.Samplings, c.opens.samplings()...)
	}
	return p
}

// Fallback knows no other way to see system calls.
func (c *Collector) Fallback(error) (note string, ok bool) { return "", false }

// Skip leaves out system calls of 32-bit code.
func (c *Collector) Skip(s *perfevent.Sample) bool {
	const abi32 = 1 // PERF_SAMPLE_REGS_ABI_32
	return s.Regs.ABI == abi32
}

// Fold begins a call, ends it, or adds the bytes of one of its messages.
func (c *Collector) Fold(rows *table.Rows, sampling int, s *perfevent.Sample) {
	if rows.Own(s.PID) || c.opens.isHelper(s.PID) {
		return
	}
	switch kind := c.kinds[sampling]; kind {
	case ioEnter:
		c.enter(rows, s)
	case ioExit:
		c.exit(rows, s)
	case ioSent, ioReceived:
		c.message(kind, s)
	case ioSubmit:
		c.submit(rows, s)
	case ioComplete:
		if c.uring.complete(rows, s) {
			c.retries.add(1)
		}
	case ioOpen:
		c.opens.open(sampling, s)
	}
}

// enter begins a call.
func (c *Collector) enter(rows *table.Rows, s *perfevent.Sample) {
	id, ok := c.id.Int(s.Raw)
	called := ioCalls[id]
	if !ok || called == nil {
		if id == unix.SYS_IO_URING_ENTER {
			c.usesURing(rows, s.PID)
		} else if c.descriptors != nil {
			c.descriptors.closing(s.PID, id, c.arguments(s))
		}
		return
	}
	call := c.calls[s.TID]
	if call == nil {
		call = new(ioCall)
		c.calls[s.TID] = call
	}
	c.known[s.TID] = true
	*call = ioCall{under: true, call: called, row: rows.Of(s), since: s.Time, most: math.MaxUint64}
	if args := c.arguments(s); called.length > 0 && len(args) >= 8*called.length+8 {
		call.most = binary.NativeEndian.Uint64(args[8*called.length:])
	}
	if c.descriptors != nil {
		label, named := c.descriptors.label(s.PID, called, c.arguments(s))
		call.row, call.unnamed = rows.With(call.row, label), !named
	}
}

// exit ends a call. One without a begin was under way when the run began.
func (c *Collector) exit(rows *table.Rows, s *perfevent.Sample) {
	id, ok := c.outID.Int(s.Raw)
	ret, ok2 := c.ret.Int(s.Raw)
	called := ioCalls[id]
	if !ok || !ok2 || called == nil {
		if c.descriptors != nil {
			c.descriptors.made(s.PID, id, ret)
			if open, ok := c.opens.take(s.TID); ok && ret >= 0 {
				c.descriptors.opened(s.PID, int32(ret), open)
			}
		}
		return
	}
	call := c.calls[s.TID]
	if call == nil || !call.under || call.call != called {
		call = &ioCall{call: called, row: rows.Process(s.PID), since: s.Time, most: math.MaxUint64}
		if !c.known[s.TID] && !c.lossy {
			call.since = rows.Begin()
		}
		c.known[s.TID] = true
	}
	call.under = false
	rows.Add(call.row, ioTime, s.Time-min(call.since, s.Time))
	switch {
	case isRetry(ret):
		c.retries.add(1)
		return
	case ret < 0:
		rows.Add(call.row, ioErrors, 1)
		return
	}
	if !called.messages {
		call.bytes = min(uint64(ret), call.most)
	}
	called.direction().add(rows, call.row, call.bytes)
	if call.unnamed {
		c.descriptors.unnamed.add(call.bytes)
	}
	rows.Add(call.row, ioCount, 1)
}

// message adds the bytes of one of the messages of a call.
func (c *Collector) message(kind int, s *perfevent.Sample) {
	call, length := c.calls[s.TID], c.sent
	if kind == ioReceived {
		length = c.got
	}
	if call == nil || !call.under || !call.call.messages || call.call.sends != (kind == ioSent) {
		return
	}
	if n, ok := length.Int(s.Raw); ok && n > 0 {
		call.bytes += uint64(n)
	}
}

func (c *Collector) arguments(s *perfevent.Sample) []byte {
	raw, _ := c.args.Bytes(s.Raw)
	return raw
}
