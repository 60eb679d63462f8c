package functrace

import (
	"context"
	"errors"
	"log/slog"
	"os"
	"strconv"

	"github.com/ringtap/ringtap/ftrace"
	"github.com/ringtap/ringtap/internal/engine"
	"github.com/ringtap/ringtap/internal/host/proc"
	"github.com/ringtap/ringtap/internal/process"
	"github.com/ringtap/ringtap/internal/trace"
)

// printer formats records.
type printer interface {
	header(kernels string) string
	append(dst []byte, e, next *ftrace.Entry) (lines []byte, shown bool)
}

// run has the state of a run.
type run struct {
	Options
	tracing *tracing
	pipe    *ftrace.Pipe
	printer printer
	names   *names
	lines   []byte
	own     map[int]bool // by TID: whether the thread is ringtap's; nil if the kernel leaves those out
	account Account
}

// Run traces until the context is done, the duration is over, the target has ended or Out fails,
// whose error it returns. When it returns, all settings are as before. The error says what could
// not be restored. It may be a *NoTracerError, *NameError, *kprobe.SymbolError or
// *ftrace.BusyError.
func Run(ctx context.Context, top *ftrace.FS, o Options) (account Account, err error) {
	if o.Logger == nil {
		o.Logger = slog.New(slog.DiscardHandler)
	}
	words, err := filterWords(o.Functions)
	if err != nil {
		return Account{}, err
	}
	r := &run{Options: o, names: newNames(top, process.Host{})}
	functions := newFunctions(trace.Printing(top, o.Logger))
	if r.tracing, err = openTracing(top, o.Kind.tracer(), o.Force); err != nil {
		return Account{}, err
	}
	defer func() {
		if closeErr := r.close(); closeErr != nil {
			err = errors.Join(err, closeErr)
		}
	}()
	if o.Kind == Calls {
		r.printer, err = newCalls(top, r.names, functions, o.Stacks)
	} else {
		r.printer, err = newGraph(top, r.names, functions, o.Graph)
	}
	if err != nil {
		return Account{}, err
	}
	if err := r.arm(words); err != nil {
		return Account{}, err
	}
	return r.follow(ctx)
}

// follow writes lines until the end.
func (r *run) follow(ctx context.Context) (Account, error) {
	loop := engine.Loop{Duration: r.Duration, Read: r.read, Ended: r.ended}
	if err := loop.Run(ctx); err != nil {
		return r.account, err
	}
	return r.finish()
}

// read writes the lines of the records that are there.
func (r *run) read() (more bool, err error) {
	if more, err = r.pipe.Read(r.hand); err == nil {
		err = r.flush()
	}
	return more, err
}

func (r *run) ended() bool { return r.tracing.ended(r.PIDs, r.TID) }

// finish stops recording and writes the remaining lines.
func (r *run) finish() (Account, error) {
	if err := r.tracing.set("tracing_on", "0"); err != nil {
		return r.account, err
	}
	if err := r.pipe.Drain(r.hand); err != nil {
		return r.account, err
	}
	if err := r.flush(); err != nil {
		return r.account, err
	}
	lost, err := r.pipe.Lost()
	r.account.Lost = lost
	return r.account, err
}

// maxLines is how many bytes of lines are collected before they are written.
const maxLines = 256 << 10

// hand handles a record.
func (r *run) hand(e, next *ftrace.Entry) error {
	if e.Lost > 0 {
		r.lines = appendLost(r.lines, e)
	}
	if r.own != nil && r.isOwn(e.PID()) {
		return nil
	}
	var shown bool
	if r.lines, shown = r.printer.append(r.lines, e, next); shown {
		r.account.Shown++
	}
	if len(r.lines) > maxLines {
		return r.write()
	}
	return nil
}

// isOwn reports whether a thread belongs to ringtap.
func (r *run) isOwn(tid int) bool {
	own, ok := r.own[tid]
	if !ok {
		_, err := os.Stat(proc.Live.Self("task/" + strconv.Itoa(tid)))
		own = err == nil
		r.own[tid] = own
	}
	return own
}

// flush ends a round of reading.
func (r *run) flush() error {
	r.names.forget()
	clear(r.own)
	return r.write()
}

func (r *run) write() error {
	if len(r.lines) == 0 {
		return nil
	}
	_, err := r.Out.Write(r.lines)
	r.lines = r.lines[:0]
	return err
}

// close restores everything. It closes the buffer first, because the kernel does not change the
// tracer while someone reads the buffer.
func (r *run) close() error {
	if r.pipe != nil {
		r.pipe.Close()
	}
	return r.tracing.close()
}
