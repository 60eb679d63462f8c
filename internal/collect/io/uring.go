package io

import (
	"errors"
	"fmt"
	"io/fs"
	"slices"
	"strings"

	"github.com/ringtap/ringtap/ftrace"
	"github.com/ringtap/ringtap/internal/collect/table"
	"github.com/ringtap/ringtap/perfevent"
)

// uring counts the requests of io_uring(7), which move bytes without a system call of their own. A
// request lasts from io_uring_submit_req, which has the stack, to io_uring_complete, which has the
// result.
type uring struct {
	request, opcode, data, ring     *ftrace.Field // of the submission
	doneRequest, doneData, doneRing *ftrace.Field // of the completion
	result, flags                   *ftrace.Field

	pending map[uint64]*ioRequest // by address of the kernel's request
}

// ioRequest is a request in progress.
type ioRequest struct {
	pid        uint32
	row        table.Row
	since      uint64 // start of the time that has not been added yet
	ring, data uint64 // the ring, and the request's user_data
	direction  direction
}

// movingRequests are the opcodes of requests that move bytes, ascending (enum io_uring_op in
// include/uapi/linux/io_uring.h).
var movingRequests = []int64{
	1, 2, // READV, WRITEV
	4, 5, // READ_FIXED, WRITE_FIXED
	9, 10, // SENDMSG, RECVMSG
	22, 23, // READ, WRITE
	26, 27, // SEND, RECV
	30, 33, // SPLICE, TEE
	47, 48, 49, // SEND_ZC, SENDMSG_ZC, READ_MULTISHOT
	58, 60, 61, // RECV_ZC, READV_FIXED, WRITEV_FIXED
}

// Flags of a completion (IORING_CQE_F_…).
const (
	moreFollows  = 1 << 1 // the request continues
	notification = 1 << 3 // the request's memory is free again; nothing was moved
)

// maxRequests bounds the known requests in progress.
const maxRequests = 1 << 16

// requestBytes is the memory of a request.
const requestBytes = 160

// readURing reads the formats of io_uring's tracepoints, nil if the kernel has none. The submission
// had another name before Linux 6.4.
func (f *Formats) readURing(tracefs *ftrace.FS) (err error) {
	for _, name := range []string{"io_uring_submit_req", "io_uring_submit_sqe"} {
		if f.Submit, err = tracefs.Format("io_uring", name); !errors.Is(err, fs.ErrNotExist) {
			break
		}
	}
	if err == nil {
		f.Complete, err = tracefs.Format("io_uring", "io_uring_complete")
	}
	if errors.Is(err, fs.ErrNotExist) {
		f.Submit, f.Complete, err = nil, nil, nil
	}
	return err
}

// newURing returns a uring, or nil if the kernel does not report which submission a completion
// belongs to (before Linux 5.17).
func newURing(f *Formats) *uring {
	u := &uring{pending: make(map[uint64]*ioRequest)}
	if f.Submit == nil || f.Complete == nil {
		return nil
	}
	u.request, u.opcode, u.data, u.ring = f.Submit.Field("req"), f.Submit.Field("opcode"), f.Submit.Field("user_data"), f.Submit.Field("ctx")
	u.doneRequest, u.doneData, u.doneRing = f.Complete.Field("req"), f.Complete.Field("user_data"), f.Complete.Field("ctx")
	u.result, u.flags = f.Complete.Field("res"), f.Complete.Field("cflags")
	if slices.Contains([]*ftrace.Field{u.request, u.opcode, u.data, u.ring, u.doneRequest, u.doneData, u.doneRing, u.result, u.flags}, nil) {
		return nil
	}
	return u
}

// submit starts a request.
func (u *uring) submit(rows *table.Rows, s *perfevent.Sample, row table.Row) {
	if len(u.pending) >= maxRequests {
		rows.LeaveOut()
		return
	}
	u.pending[number(u.request, s)] = &ioRequest{pid: s.PID, row: row, since: s.Time, ring: number(u.ring, s), data: number(u.data, s), direction: directionOf(number(u.opcode, s))}
}

// complete ends a request or one round of it. It reports whether the program will repeat the
// request: see isRetry.
func (u *uring) complete(rows *table.Rows, s *perfevent.Sample) (retry bool) {
	request, flags := number(u.doneRequest, s), number(u.flags, s)
	r := u.pending[request]
	if request == 0 {
		request, r = u.ofRing(number(u.doneRing, s), number(u.doneData, s))
	}
	if r == nil {
		return false // it moves nothing, or was submitted before the run
	}
	rows.Add(r.row, ioTime, s.Time-min(r.since, s.Time))
	r.since = s.Time
	if flags&moreFollows == 0 {
		delete(u.pending, request)
	}
	result, _ := u.result.Int(s.Raw)
	switch {
	case flags&notification != 0:
	case isRetry(result):
		return true
	case result < 0:
		rows.Add(r.row, ioErrors, 1)
	default:
		r.direction.add(rows, r.row, uint64(result))
		rows.Add(r.row, ioCount, 1)
	}
	return false
}

// ofRing finds a request that has already had a result. The kernel then reports only the ring and
// user_data.
func (u *uring) ofRing(ring, data uint64) (request uint64, r *ioRequest) {
	for request, r := range u.pending {
		if r.ring == ring && r.data == data {
			return request, r
		}
	}
	return 0, nil
}

// number returns the value of a field in a record.
func number(field *ftrace.Field, s *perfevent.Sample) uint64 {
	n, _ := field.Int(s.Raw)
	return uint64(n)
}

// end adds the time of requests in progress, up to the end of the window.
func (u *uring) end(rows *table.Rows, now uint64) {
	for _, r := range u.pending {
		if now > r.since {
			rows.Add(r.row, ioTime, now-r.since)
			r.since = now
		}
		rows.Keep(r.row)
	}
}

// ended forgets the requests of a process.
func (u *uring) ended(pid uint32) {
	for request, r := range u.pending {
		if r.pid == pid {
			delete(u.pending, request)
		}
	}
}

// submit starts a request.
func (c *Collector) submit(rows *table.Rows, s *perfevent.Sample) {
	row := rows.Of(s)
	c.usesURing(rows, s.PID)
	if c.by != ByNothing {
		row = rows.With(row, "[io_uring]") // the descriptor is not reported
	}
	c.uring.submit(rows, s, row)
}

// usesURing remembers that a process uses io_uring.
func (c *Collector) usesURing(rows *table.Rows, pid uint32) {
	if _, known := c.uringUsers[pid]; !known {
		c.uringUsers[pid] = rows.Comm(rows.Process(pid))
	}
}

// Notes returns notes about processes that use io_uring, and about files whose names are unknown or
// may be wrong. A detail counts failed calls that are not errors.
func (c *Collector) Notes(whole bool) (notes, details []string) {
	if retries := c.retries.take(whole); retries > 0 {
		details = append(details, fmt.Sprintf("io: calls that were interrupted or found no data or room (EAGAIN), which are not errors: %d", retries))
	}
	return append(c.uringNotes(), c.descriptors.notes(whole)...), details
}

// counter is a count for notes.
type counter struct {
	window uint64 // of the current window
	run    uint64 // of earlier windows
}

func (c *counter) add(n uint64) { c.window += n }

// take returns the count of the window, which ends. If whole is set, it returns the run's count:
// see table.Noter.
func (c *counter) take(whole bool) uint64 {
	n := c.window
	if whole {
		return c.run + n
	}
	c.run, c.window = c.run+n, 0
	return n
}

func (c *Collector) uringNotes() []string {
	if len(c.uringUsers) == 0 {
		return nil
	}
	var names []string
	for pid, name := range c.uringUsers {
		names = append(names, strings.TrimSpace(fmt.Sprintf("%d %s", pid, name)))
	}
	slices.Sort(names)
	const most = 5
	if n := len(names) - most; n > 0 {
		names = append(names[:most], fmt.Sprintf("and %d others", n))
	}
	text := "io_uring is used by " + strings.Join(names, ", ")
	if c.uring == nil {
		return []string{text + ": this kernel does not tell what its requests move, and they are not counted"}
	}
	return []string{text + ": its requests count from their submission to their completion"}
}
