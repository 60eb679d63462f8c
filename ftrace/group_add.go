package ftrace

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
)

// AddsPlaces tells whether the kernel lets one dynamic event have several places
// (since Linux 5.4): whether its README says so, as the kernel's own tests ask.
func (t *FS) AddsPlaces() bool {
	text, err := os.ReadFile(filepath.Join(t.dir, "README"))
	return err == nil && strings.Contains(string(text), "Create/append/")
}

// Add adds a place to an event that the group has, of the same type and with
// arguments of the same names and types; they may be fetched from elsewhere. The
// event is enabled, disabled and removed at all its places at once, which takes
// the kernel little more than it does at one. The errors are Define's, and
// errors.ErrUnsupported where AddsPlaces is false: such a kernel would replace
// the place.
func (g *Group) Add(d Dynamic) error {
	g.mu.Lock()
	defer g.mu.Unlock()
	switch {
	case g.closed:
		return fmt.Errorf("add to event %s/%s: %w", g.Name(), d.Event, fs.ErrClosed)
	case !slices.Contains(g.events, d.Event):
		return fmt.Errorf("add to event %s/%s: %w", g.Name(), d.Event, fs.ErrNotExist)
	case !g.adds():
		return fmt.Errorf("add to event %s/%s: %w", g.Name(), d.Event, errors.ErrUnsupported)
	}
	if err := d.check(g.file, g.Name()); err != nil {
		return err
	}
	return g.fs.define(g.file, d.line(g.Name()))
}
