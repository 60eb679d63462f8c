package functrace

import (
	"context"
	"errors"
	"log/slog"
	"os"
	"strconv"

	"github.com/ringtap/ringtap/ftrace"
	"github.com/ringtap/ringtap/internal/follow"
	"github.com/ringtap/ringtap/internal/proc"
	"github.com/ringtap/ringtap/internal/process"
	"github.com/ringtap/ringtap/internal/tracerun"
)

// printer makes lines of records.
type printer interface {
	header(kernels string) string
	append(dst []byte, e, next *ftrace.Entry) (lines []byte, shown bool)
}

// run is a run under way.
type run struct {
	Options
	tracing *tracing
	pipe    *ftrace.Pipe
	printer printer
	names   *names
	lines   []byte
	own     map[int]bool // threads that are ours, where the kernel can't leave them out
	account Account
}

// Run traces until the context is done, the duration is over, the target has
// ended or Out fails, whose error it returns. All settings are as before when it
// returns; what could not be put back is in the error. The error may be a
// *NoTracerError, *NameError, *kprobe.SymbolError or *ftrace.BusyError.
func Run(ctx context.Context, top *ftrace.FS, o Options) (account Account, err error) {
	if o.Logger == nil {
		o.Logger = slog.New(slog.DiscardHandler)
	}
	words, err := filterWords(o.Functions)
	if err != nil {
		return Account{}, err
	}
	r := &run{Options: o, names: newNames(top, process.Host{})}
	functions := newFunctions(follow.Printing(top, o.Logger))
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

// follow hands on lines until the end.
func (r *run) follow(ctx context.Context) (Account, error) {
	loop := tracerun.Loop{Duration: r.Duration, Read: r.read, Ended: r.ended}
	if err := loop.Run(ctx); err != nil {
		return r.account, err
	}
	return r.finish()
}

// read hands on what there is.
func (r *run) read() (more bool, err error) {
	if more, err = r.pipe.Read(r.hand); err == nil {
		err = r.flush()
	}
	return more, err
}

func (r *run) ended() bool { return r.tracing.ended(r.PIDs, r.TID) }

// finish stops the recording and hands on what is left.
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

// maxLines is how much is printed before it is handed on.
const maxLines = 256 << 10

// hand prints a record.
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

// isOwn tells whether a thread is ours.
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

// close puts everything back. The buffer is closed first: as long as someone
// reads it, the kernel keeps its tracer.
func (r *run) close() error {
	if r.pipe != nil {
		r.pipe.Close()
	}
	return r.tracing.close()
}
