package io

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"path/filepath"
	"strings"
	"unicode"
	"unicode/utf8"

	"golang.org/x/sys/unix"

	"github.com/ringtap/ringtap/ftrace"
	"github.com/ringtap/ringtap/ftrace/printfmt"
	"github.com/ringtap/ringtap/internal/probe"
	"github.com/ringtap/ringtap/internal/syscalltext"
	"github.com/ringtap/ringtap/perfevent"
)

// opens tells the paths by which files are opened. A file that is closed soon is not
// there any more when its descriptor is looked up.
type opens struct {
	calls   []openCall // by the index of their sampling, from first on
	first   int
	texts   *syscalltext.Attachment
	opening map[uint32]opened // by thread, of the call that it is in
	record  []byte
}

// openCall is a system call that opens a file.
type openCall struct {
	source *probe.Source
	path   string // the parameter
}

// opened is what a call opens.
type opened struct {
	dir  int32 // what a path begins at that is not absolute
	path string
	late bool // it was read later, when it may have been another
}

// openingCalls are the names of the system calls.
var openingCalls = []string{"openat", "open", "openat2", "creat"}

// ReadPaths makes the collector read the paths that files of target are opened by, so that
// rows split by file name files that are closed before their descriptors are looked up. A
// helper process reads the paths while the calls wait (see syscalltext.Near), so the caller's
// main function must serve it. ReadPaths changes Plan. The caller calls close after it has
// closed the events.
func (c *Collector) ReadPaths(tracefs *ftrace.FS, target perfevent.Target, logger *slog.Logger) (close func() error, err error) {
	o := &opens{first: len(c.kinds), opening: make(map[uint32]opened)}
	// The texts' samplings are known by their index among all.
	sources := make([]probe.Source, o.first)
	for i := range sources {
		sources[i].Format = c.formats.Enter
	}
	for _, name := range openingCalls {
		format, err := tracefs.Format("syscalls", "sys_enter_"+name)
		if errors.Is(err, fs.ErrNotExist) {
			continue // not on this machine
		}
		if err != nil {
			return nil, err
		}
		params := syscalltext.Params(format)
		if len(params) == 0 {
			continue
		}
		sources = append(sources, probe.Source{Event: perfevent.Tracepoint(uint64(format.ID), "syscalls:"+format.Name), Format: format})
		o.calls = append(o.calls, openCall{path: params[0].Name})
	}
	if len(o.calls) == 0 {
		return func() error { return nil }, nil
	}
	how := syscalltext.Options{Tracefs: tracefs, Near: true, Logger: logger}
	if o.texts, err = syscalltext.Attach(sources, how); err != nil {
		return nil, err
	}
	if err := o.texts.Start(target, how); err != nil {
		return nil, errors.Join(err, o.texts.Close())
	}
	for i := range o.calls {
		o.calls[i].source = &sources[o.first+i]
		c.kinds = append(c.kinds, ioOpen)
	}
	c.opens = o
	return o.texts.Close, nil
}

// samplings are those of the calls.
func (o *opens) samplings() (all []perfevent.Sampling) {
	for i := range o.calls {
		s := o.calls[i].source.Sampling()
		o.calls[i].source.PrepareRecord(&s)
		s.Soon = o.texts.Seen() != nil
		all = append(all, s)
	}
	return all
}

// Seen is offered the records as soon as they come: see table.Watcher.
func (c *Collector) Seen() func(perfevent.Record) {
	if c.opens == nil {
		return nil
	}
	return c.opens.texts.Seen()
}

// open sees a call begin.
func (o *opens) open(sampling int, s *perfevent.Sample) {
	call := &o.calls[sampling-o.first]
	record := s.Raw
	if call.source.Record != nil {
		o.record = call.source.Record(o.record[:0], s)
		record = o.record
	}
	delete(o.opening, s.TID)
	field := call.source.Format.Field(printfmt.SyscallText(call.path))
	if field == nil {
		return
	}
	path, _ := field.Bytes(record)
	open := opened{dir: unix.AT_FDCWD, path: string(path), late: isLate(call, record)}
	if len(path) == 0 || open.late && !isText(path) {
		return
	}
	if dir := call.source.Format.Field("dfd"); dir != nil {
		fd, _ := dir.Int(record)
		open.dir = int32(fd)
	}
	o.opening[s.TID] = open
}

// isLate tells whether a record's path was read later than the call began.
func isLate(call *openCall, record []byte) bool {
	field := call.source.Format.Field(printfmt.SyscallTextLate(call.path))
	if field == nil {
		return false
	}
	late, _ := field.Uint(record)
	return late != 0
}

// isText tells whether bytes can be taken for a path. What the program has put in a
// path's place meanwhile most often can't: an address, a number.
func isText(path []byte) bool {
	return utf8.Valid(path) && !bytes.ContainsFunc(path, unicode.IsControl)
}

// isHelper reports whether a process is the one that reads the paths for ringtap.
func (o *opens) isHelper(pid uint32) bool { return o != nil && pid == o.texts.Helper() }

// take returns what the call has opened that a thread comes from, once.
func (o *opens) take(tid uint32) (open opened, ok bool) {
	if o == nil {
		return opened{}, false
	}
	open, ok = o.opening[tid]
	delete(o.opening, tid)
	return open, ok
}

// openingBytes is what a call under way takes.
const openingBytes = 128

// opened sees a file be opened. A path that is not absolute stays so where nobody knows
// any more what it began at.
func (d *descriptors) opened(pid uint32, fd int32, open opened) {
	path := open.path
	if !strings.HasPrefix(path, "/") {
		from := d.known[pid][open.dir]
		dir := from.word
		if open.dir == unix.AT_FDCWD {
			dir, _ = d.host.Link(int(pid), "cwd")
		}
		if strings.HasPrefix(dir, "/") {
			path = filepath.Join(dir, path)
			open.late = open.late || from.late
		}
	}
	d.set(pid, fd, descriptor{word: path, path: path, late: open.late})
}

// notes returns notes about files whose names may be wrong or are unknown: see Collector.Notes.
func (d *descriptors) notes(whole bool) (notes []string) {
	if d == nil {
		return nil
	}
	if late := d.late.take(whole); late > 0 {
		notes = append(notes, fmt.Sprintf("files whose names were read a moment after they were opened, and may be those of other files: %d", late))
	}
	if calls, bytes := d.unnamed.calls.take(whole), d.unnamed.bytes.take(whole); calls > 0 {
		notes = append(notes, fmt.Sprintf("[file] and [closed]: %d calls moved %d bytes through descriptors that were closed before ringtap could find their names", calls, bytes))
	}
	return notes
}

// isStill reports whether the descriptor that is now called word can be the one that is
// known, and not another that took its number. Links on the way to a path and names that
// lead elsewhere are all right.
func (k *descriptor) isStill(word string) bool {
	if k.path == "" {
		return k.word == "" || k.word == "file" || k.word == word
	}
	base := filepath.Base(k.path)
	return base == "." || base == ".." || filepath.Base(strings.TrimSuffix(word, " (deleted)")) == base
}
