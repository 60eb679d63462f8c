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

// AddsPlaces reports whether the kernel supports dynamic events with several places (since
// Linux 5.4). It looks for that in the kernel's README, as the kernel's own tests do.
func (t *FS) AddsPlaces() bool {
	text, err := os.ReadFile(filepath.Join(t.dir, "README"))
	return err == nil && strings.Contains(string(text), "Create/append/")
}

// Add adds a place to an existing event of the group. The type of the probe and the names and
// types of the arguments must be the same; the fetch expressions may differ. The event is
// enabled, disabled and removed at all its places together, which takes little longer than for
// one. The errors are Define's, or errors.ErrUnsupported if AddsPlaces is false: such a kernel
// would replace the place.
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
