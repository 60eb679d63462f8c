package live

import (
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"
	"slices"
	"strings"

	"github.com/ringtap/ringtap/internal/bpftrace/plan"
	"github.com/ringtap/ringtap/kprobe"
	"github.com/ringtap/ringtap/uprobe"
)

// attachStandIn attaches a replacement for an event that could not be attached, such as the new name of
// a renamed function, and adds a note about it. It returns err if there is no replacement, or if one of
// all events attaches it already: a program with the old and the new name wants the function once.
func (a *Attachment) attachStandIn(event *plan.Event, all []*plan.Event, err error) error {
	other, note := standIn(event, err)
	if other == "" || isAmong(other, event, all) {
		return err
	}
	// The event must stay the same pointer, by which joinEntries matches entries with returns.
	own := event.Definition
	event.Definition = other
	again := a.attach(event)
	switch {
	case again == nil && event.Point != nil && note != "":
		a.Notes = append(a.Notes, event.Point.Text+": "+note)
	case again != nil:
		event.Definition = own
	}
	if again == nil || errors.As(again, new(*kprobe.MethodError)) {
		return again // the function is there, but this kernel can't probe it
	}
	return err
}

// standIn returns the definition of an event's replacement, "" if there is none, and a note for the
// user, which may be "". err says why the event could not be attached.
func standIn(event *plan.Event, err error) (definition, note string) {
	kind, rest, _ := strings.Cut(event.Definition, ":")
	if event.Place == plan.Kernel {
		missing := (*kprobe.SymbolError)(nil)
		if !errors.As(err, &missing) || rest != missing.Name || missing.Pattern || len(missing.Today) != 1 {
			return "", ""
		}
		if note = renamed(event, missing); note == "" {
			return "", ""
		}
		return kind + ":" + missing.Today[0], note
	}
	file, function, ok := strings.Cut(rest, ":")
	if event.Place != plan.User || !ok {
		return "", ""
	}
	base := filepath.Base(file)
	switch {
	case errors.As(err, new(*uprobe.SymbolError)) && mergedInLibc(base):
		// Since glibc 2.34, the file of such a library is empty.
		return kind + ":" + strings.TrimSuffix(file, base) + libc(base) + ":" + function, ""
	case errors.Is(err, fs.ErrNotExist) && base != file && strings.HasPrefix(base, "lib") && strings.Contains(base, ".so"):
		if mergedInLibc(base) {
			base = libc(base)
		}
		return kind + ":" + base + ":" + function, file + " is not there: " + base + " is probed where it is"
	}
	return "", ""
}

// isAmong reports whether one of all events has this definition and runs every clause that event runs.
func isAmong(definition string, event *plan.Event, all []*plan.Event) bool {
	return slices.ContainsFunc(all, func(e *plan.Event) bool {
		return e.Definition == definition && !slices.ContainsFunc(event.Uses, func(u plan.Use) bool {
			return !slices.ContainsFunc(e.Uses, func(other plan.Use) bool { return other.Clause == u.Clause })
		})
	})
}

// renamed returns a note about the name under which a missing function is probed, or "" if the function with
// that name may have other arguments than the event fetches.
func renamed(event *plan.Event, missing *kprobe.SymbolError) string {
	name, today := missing.Name, missing.Today[0]
	switch {
	case today == name+"_noprof":
		return "today it is " + today
	case strings.HasPrefix(today, name+"."):
		note := "the compiler has made " + today + " of it, which is probed"
		if len(event.Fetch) > 0 {
			note += ": its arguments may be others"
		}
		return note
	case len(event.Fetch) == 0:
		return fmt.Sprintf("the kernel has %s instead (%s), which is probed", today, missing.Why)
	}
	return "" // its arguments may differ
}

// mergedInLibc reports whether glibc 2.34 has made a library a part of the C library.
func mergedInLibc(library string) bool {
	name, _, _ := strings.Cut(library, ".so")
	return slices.Contains([]string{"libpthread", "librt", "libdl", "libutil"}, name)
}

// libc returns the name of the C library, with a version if the name of the other library has one.
func libc(library string) string {
	if strings.Contains(library, ".so.") {
		return "libc.so.6"
	}
	return "libc"
}
