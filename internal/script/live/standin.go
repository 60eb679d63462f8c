package live

import (
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"
	"slices"
	"strings"

	"github.com/ringtap/ringtap/internal/script/plan"
	"github.com/ringtap/ringtap/kprobe"
	"github.com/ringtap/ringtap/uprobe"
)

// attachStandIn attaches what stands today for an event that could not be attached, and notes it. It
// returns the event's own error where nothing does, or where one of all events is that: a program that
// names a function's old and new name wants it once.
func (a *Attachment) attachStandIn(event *plan.Event, all []*plan.Event, err error) error {
	other, note := standIn(event, err)
	if other == "" || isAmong(other, event, all) {
		return err
	}
	// Who joins entries and returns knows the event by its address.
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

// standIn returns the definition of what stands for an event, and what is to be said of it; "" if
// nothing does.
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
		// Its file has been empty since then.
		return kind + ":" + strings.TrimSuffix(file, base) + libc(base) + ":" + function, ""
	case errors.Is(err, fs.ErrNotExist) && base != file && strings.HasPrefix(base, "lib") && strings.Contains(base, ".so"):
		if mergedInLibc(base) {
			base = libc(base)
		}
		return kind + ":" + base + ":" + function, file + " is not there: " + base + " is probed where it is"
	}
	return "", ""
}

// isAmong tells whether what stands in for an event is attached by one of all events, which runs every
// clause that the event runs.
func isAmong(definition string, event *plan.Event, all []*plan.Event) bool {
	return slices.ContainsFunc(all, func(e *plan.Event) bool {
		return e.Definition == definition && !slices.ContainsFunc(event.Uses, func(u plan.Use) bool {
			return !slices.ContainsFunc(e.Uses, func(own plan.Use) bool { return own.Clause == u.Clause })
		})
	})
}

// renamed says by which name a function that is not there is probed, "" if that may be wrong.
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
	return "" // its arguments are others
}

// mergedInLibc tells whether a library is a part of the C library since glibc 2.34.
func mergedInLibc(library string) bool {
	name, _, _ := strings.Cut(library, ".so")
	return slices.Contains([]string{"libpthread", "librt", "libdl", "libutil"}, name)
}

// libc is the C library as another of its libraries is named: with its version, or without.
func libc(library string) string {
	if strings.Contains(library, ".so.") {
		return "libc.so.6"
	}
	return "libc"
}
