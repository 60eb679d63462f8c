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
	"github.com/ringtap/ringtap/internal/readmem/syscalltext"
	"github.com/ringtap/ringtap/perfevent"
)

// opens reads the paths by which files are opened. A file that is closed soon is gone when its
// descriptor is looked up.
type opens struct {
	calls   []openCall // by index of their samplings, from first on
	first   int
	texts   *syscalltext.Attachment
	opening map[uint32]opened // by TID: what the current call of the thread opens
	record  []byte
}

// openCall is a system call that opens a file.
type openCall struct {
	source *probe.Source
	path   string // name of the parameter with the path
}

// opened is the file that a call opens.
type opened struct {
	dir  int32 // descriptor of the directory to which a relative path refers
	path string
	late bool // the path was read later, when memory may have changed
}

// openingCalls are the names of the system calls.
var openingCalls = []string{"openat", "open", "openat2", "creat"}

// ReadPaths makes the collector read the paths with which processes of target open files. So rows
// that are split by file can name files that are closed before their descriptors are looked up. A
// helper process reads the paths while the calls wait (see syscalltext.Near), so the caller's main
// function must serve it. ReadPaths changes Plan. The caller calls close after it has closed the
// events.
// closed the events.
func (c *Collector) ReadPaths(tracefs *ftrace.FS, target perfevent.Target, logger *slog.Logger) (close func() error, err error) {
	o := &opens{first: len(c.kinds), opening: make(map[uint32]opened)}
	// The text samplings are identified by their index among all samplings.
	sources := make([]probe.Source, o.first)
	for i := range sources {
		sources[i].Format = c.formats.Enter
	}
	for _, name := range openingCalls {
		format, err := tracefs.Format("syscalls", "sys_enter_"+name)
		if errors.Is(err, fs.ErrNotExist) {
			continue // this machine does not have the call
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
	if err := o.texts.Start(target); err != nil {
		return nil, errors.Join(err, o.texts.Close())
	}
	for i := range o.calls {
		o.calls[i].source = &sources[o.first+i]
		c.kinds = append(c.kinds, ioOpen)
	}
	c.opens = o
	return o.texts.Close, nil
}

// samplings returns the samplings of the opening calls.
func (o *opens) samplings() (all []perfevent.Sampling) {
	for i := range o.calls {
		s := o.calls[i].source.Sampling()
		o.calls[i].source.PrepareRecord(&s)
		if o.texts.Seen() != nil {
			s.WakeupEvents = 1
		}
		all = append(all, s)
	}
	return all
}

// Seen implements table.Watcher.
func (c *Collector) Seen() func(perfevent.Record) {
	if c.opens == nil {
		return nil
	}
	return c.opens.texts.Seen()
}

// open handles the start of a call.
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

// isLate reports whether a record's path was read after the call had started.
func isLate(call *openCall, record []byte) bool {
	field := call.source.Format.Field(printfmt.SyscallTextLate(call.path))
	if field == nil {
		return false
	}
	late, _ := field.Uint(record)
	return late != 0
}

// isText reports whether bytes may be a path. If the program has overwritten the path meanwhile,
// they mostly cannot: they are an address or a number.
func isText(path []byte) bool {
	return utf8.Valid(path) && !bytes.ContainsFunc(path, unicode.IsControl)
}

// isHelper reports whether a process is ringtap's helper that reads the paths.
func (o *opens) isHelper(pid uint32) bool { return o != nil && pid == o.texts.Helper() }

// take returns and removes what the current call of a thread opens.
func (o *opens) take(tid uint32) (open opened, ok bool) {
	if o == nil {
		return opened{}, false
	}
	open, ok = o.opening[tid]
	delete(o.opening, tid)
	return open, ok
}

// openingBytes is the memory of a call in progress.
const openingBytes = 128

// opened handles a file that was opened. A relative path stays relative if its directory is
// unknown.
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

// notes returns notes about files whose names are unknown or may be wrong: see Collector.Notes.
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

// isStill reports whether a descriptor whose word is now word can still be k. Otherwise another
// file took its number. The word may differ from k's path by symbolic links and other names of the
// same file.
func (k *descriptor) isStill(word string) bool {
	if k.path == "" {
		return k.word == "" || k.word == "file" || k.word == word
	}
	base := filepath.Base(k.path)
	return base == "." || base == ".." || filepath.Base(strings.TrimSuffix(word, " (deleted)")) == base
}
