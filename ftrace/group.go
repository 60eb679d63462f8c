package ftrace

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"sync"
	"time"
)

// closePatience is how long Close waits for the kernel to release events after their perf
// events are closed.
const closePatience = time.Second

// Group is a set of dynamic events that belong to this process. Its methods may be called by
// several goroutines.
//
// A group's name identifies its owner: ringtap_PID_STARTTIME, with the process's start time
// (field 22 of proc_pid_stat(5)). The second group of a process has the suffix _2. If the
// process dies without closing the group, the next NewGroup or RemoveStale of any process
// removes its events.
type Group struct {
	fs    *FS
	file  string
	owner *owner
	adds  func() bool // FS.AddsPlaces, asked once

	mu     sync.Mutex
	events []string // defined and not yet removed
	closed bool
}

// NewGroup makes an empty group of dynamic events in file. file is "uprobe_events",
// "kprobe_events" or, for event probes, "dynamic_events" (see TryEventProbe). NewGroup calls
// RemoveStale first and ignores its errors. The caller must close the group. The error wraps
// fs.ErrNotExist if the kernel has no such file, and fs.ErrPermission if the caller may not
// write it.
func (t *FS) NewGroup(file string) (*Group, error) {
	if file != "uprobe_events" && file != "kprobe_events" && file != eventProbes {
		return nil, fmt.Errorf("dynamic events in %q: %w", file, fs.ErrInvalid)
	}
	f, err := os.OpenFile(filepath.Join(t.dir, file), os.O_WRONLY|os.O_APPEND, 0)
	if err != nil {
		return nil, fmt.Errorf("define events: %w", err)
	}
	f.Close()
	t.RemoveStale(0) // a leftover that cannot be removed does not matter
	owner, err := t.own()
	if err != nil {
		return nil, fmt.Errorf("make a group of events: %w", err)
	}
	return &Group{fs: t, file: file, owner: owner, adds: sync.OnceValue(t.AddsPlaces)}, nil
}

// Name returns the group's name, which is the system of its events.
func (g *Group) Name() string { return g.owner.name }

// Define adds an event and returns its number for perf_event_open(2). The error is a
// *DefinitionError if the kernel rejects the definition. It wraps fs.ErrExist if the group
// already has an event of that name, and fs.ErrClosed after Close.
func (g *Group) Define(d Dynamic) (id uint64, err error) {
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.closed {
		return 0, fmt.Errorf("define event %s/%s: %w", g.Name(), d.Event, fs.ErrClosed)
	}
	if err := d.check(g.file, g.Name()); err != nil {
		return 0, err
	}
	// The kernel would add a second probe to the event or, before Linux 5.4, replace the first
	// one.
	if _, err := os.Stat(filepath.Join(g.fs.dir, "events", g.Name(), d.Event)); err == nil {
		return 0, fmt.Errorf("define event %s/%s: %w", g.Name(), d.Event, fs.ErrExist)
	}
	if err := g.fs.define(g.file, d.line(g.Name())); err != nil {
		return 0, err
	}
	g.events = append(g.events, d.Event)
	return g.fs.EventID(g.Name(), d.Event)
}

// Close removes all events of the group. The perf events on them must be closed first: while
// one is open, Close fails and can be called again. A closed group stays closed.
func (g *Group) Close() error {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.closed = true
	var left []string
	var errs []error
	for _, event := range g.events {
		if err := g.fs.removeEvent(g.file, g.Name(), event, closePatience); err != nil {
			left = append(left, event)
			errs = append(errs, err)
		}
	}
	g.events = left
	if len(left) == 0 {
		g.owner.release()
	}
	return errors.Join(errs...)
}
