// Package io is the collector of bytes that system calls move and the time that they take.
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
	"github.com/ringtap/ringtap/internal/collect/table"
	"github.com/ringtap/ringtap/internal/process"
	"github.com/ringtap/ringtap/internal/profile"
	"github.com/ringtap/ringtap/internal/stack"
	"github.com/ringtap/ringtap/perfevent"
)

// Collector is the io collector. It counts bytes that system calls move, calls that succeed or
// fail, and the time inside calls, by the stack of the call. Calls that the program will repeat
// (see isRetry) count with their time only.
//
// It uses the two tracepoints of all system calls, filtered by number. That takes two events per
// watched thread instead of forty. The entry has the stack, so that a call in progress can count up
// to the end of a window. The exit has as little data as possible.
//
// A call that was in progress when the run started has no stack, and its time counts from the start
// of the run. System calls of 32-bit programs have other numbers, and do not count.
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
	descriptors *descriptors       // nil unless rows are split
	uring       *uring             // nil if the kernel does not report requests
	uringUsers  map[uint32]string  // by PID: names of processes that use it
	opens       *opens             // nil if paths are not read
	kinds       []int              // one per sampling
	lossy       bool               // records were lost, so that an exit without an entry means nothing
	retries     counter            // calls that the program will repeat: see isRetry
}

// Formats are the tracepoints that the collector reads.
type Formats struct {
	Enter, Exit *ftrace.Format // raw_syscalls:sys_enter and sys_exit
	// Sent and received are sock:sock_send_length and sock_recv_length. They are nil before Linux
	// 6.3. Only they say how many bytes sendmmsg(2) and recvmmsg(2) move, because these calls
	// return a number of messages.
	Sent, received *ftrace.Format
	// Submit and Complete are io_uring:io_uring_submit_req and io_uring_complete. They are nil if
	// the kernel has none.
	Submit, Complete *ftrace.Format
}

// ioCall is the current or the last system call of a thread.
type ioCall struct {
	under bool // still in progress
	call  *ioCalled
	row   table.Row
	since uint64 // start of the time that has not been added yet
	bytes uint64 // of its messages, if the result is not in bytes
	most  uint64 // bound on the bytes that it can move

	unnamed bool // the label is [closed] or [file], because the name is unknown
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

// The kinds of samplings. Only the first two always exist.
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
		formats.received, err = tracefs.Format("sock", "sock_recv_length")
	}
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return formats, err
	}
	return formats, formats.readURing(tracefs)
}

// New returns an io collector for a run on host that starts now.
func New(host process.Host, formats Formats, splitBy By, stacks stack.Stacks) (*Collector, error) {
	c := &Collector{formats: formats, by: splitBy, stacks: stacks, known: make(map[uint32]bool), calls: make(map[uint32]*ioCall),
		uring: newURing(&formats), uringUsers: make(map[uint32]string), kinds: []int{ioEnter, ioExit}}
	c.id, c.args = formats.Enter.Field("id"), formats.Enter.Field("args")
	c.outID, c.ret = formats.Exit.Field("id"), formats.Exit.Field("ret")
	if c.id == nil || c.args == nil || c.outID == nil || c.ret == nil {
		return nil, fmt.Errorf("this kernel's raw_syscalls:sys_enter and sys_exit have no fields id, args and ret")
	}
	if formats.Sent != nil && formats.received != nil {
		c.sent, c.got = formats.Sent.Field("ret"), formats.received.Field("ret")
	}
	if c.sent != nil && c.got != nil {
		c.kinds = append(c.kinds, ioSent, ioReceived)
	}
	if c.uring != nil {
		c.kinds = append(c.kinds, ioSubmit, ioComplete)
	}
	if splitBy != ByNothing {
		c.descriptors = newDescriptors(host, splitBy)
	}
	return c, nil
}

// look looks up the descriptors of a process before it continues, if they are needed.
func (c *Collector) look(pid int) {
	if c.descriptors != nil {
		c.descriptors.lookAll(uint32(pid))
	}
}

// Plan returns the tracepoints of system calls, sockets, io_uring and opens, as far as they are
// used.
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
	// One register is enough to recognize 32-bit code.
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
		p.Samplings = append(p.Samplings, sampling(c.formats.Sent, "ret > 0"), sampling(c.formats.received, "ret > 0"))
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

// Fallback returns false: there is no other way to see system calls.
func (c *Collector) Fallback(error) (note string, ok bool) { return "", false }

// Skip leaves out system calls of 32-bit code.
func (c *Collector) Skip(s *perfevent.Sample) bool {
	const abi32 = 1 // PERF_SAMPLE_REGS_ABI_32
	return s.Regs.ABI == abi32
}

// Fold handles the start or end of a call or request, or the bytes of a message.
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

// enter handles the start of a call.
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

// exit handles the end of a call. If its start was not seen, it was in progress when the run
// started.
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

// message adds the bytes of one message of a call.
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
