package annotate

import (
	"errors"
	"fmt"
	"path"
	"slices"
	"strings"

	"github.com/ringtap/ringtap/callchain"
	"github.com/ringtap/ringtap/internal/process"
	"github.com/ringtap/ringtap/internal/stack"
	"github.com/ringtap/ringtap/internal/text/match"
)

// maxNamed is how many functions a message names.
const maxNamed = 5

// ErrNoSamples is wrapped by Run's error if a recording, or what was kept of it, has no samples.
var ErrNoSamples = errors.New("no samples")

// choice is the function to show, the event to count, and what else might have been meant.
type choice struct {
	*function
	event  int
	others []*function // of the same name, or all others if no name was given
	named  bool
	closed []*function // hotter ones whose code can't be read, if no name was given
}

// choose finds the function of the options.
func (f *functions) choose() (choice, error) {
	events, err := f.events()
	if err != nil {
		return choice{}, err
	}
	for _, event := range events {
		found := f.byEvent(event)
		if f.opts.Function != "" {
			if found = f.find(found); len(found) > 0 {
				return choice{function: found[0], event: event, others: found[1:], named: true}, nil
			}
			continue
		}
		// A CPU that does nothing is no hot spot.
		found = slices.DeleteFunc(found, func(fn *function) bool { return 2*fn.idle[event].Samples > fn.counts[event].Samples })
		if i := slices.IndexFunc(found, f.isReadable); i >= 0 {
			return choice{function: found[i], event: event, others: f.readable(found[i+1:]), closed: found[:i]}, nil
		}
	}
	if f.opts.Function == "" {
		return choice{}, fmt.Errorf("no function with samples has code that can be read: %w", f.unreadable(events))
	}
	return choice{}, f.notFound(f.byEvent(events[0]))
}

// events returns the events that may be counted, in the order of preference.
func (f *functions) events() (events []int, err error) {
	var names []string
	for i := range f.opts.Events {
		names = append(names, f.opts.Events[i].Name)
		if f.totals[i].Samples > 0 && (f.opts.Event == "" || f.opts.Event == f.opts.Events[i].Name) {
			events = append(events, i)
		}
	}
	switch {
	case f.opts.Event != "" && !slices.Contains(names, f.opts.Event):
		return nil, fmt.Errorf("the recording has no event %q: it has %s", f.opts.Event, strings.Join(names, ", "))
	case len(events) == 0 && f.opts.Event != "":
		return nil, fmt.Errorf("%w of %s", ErrNoSamples, f.opts.Event)
	case len(events) == 0:
		return nil, ErrNoSamples
	}
	return events, nil
}

// find returns the functions that a name means, of those given. It first compares the name with those
// of the functions with samples. If no name is equal, it reads the symbol tables of their files, for
// aliases and for the other ways to write a C++ name.
func (f *functions) find(all []*function) []*function {
	found := withNames(all, f.opts.Function, func(fn *function, name string) bool {
		return fn.name == name || fn.raw == name || fn.shortName() == name || fn.fullName() == name
	})
	if len(found) > 0 {
		return found
	}
	return withNames(all, f.opts.Function, func(fn *function, name string) bool { return slices.Contains(f.starts(fn, name, false), fn.start) })
}

// withNames returns the functions that have a name. NAME is tried before OBJECT:NAME, because C++
// names have colons.
func withNames(all []*function, name string, has func(fn *function, name string) bool) (found []*function) {
	for _, fn := range all {
		if has(fn, name) {
			found = append(found, fn)
		}
	}
	object, rest, ok := strings.Cut(name, ":")
	if len(found) > 0 || !ok || strings.HasPrefix(rest, ":") {
		return found
	}
	for _, fn := range all {
		if isObject(fn.object.Path, object) && has(fn, rest) {
			found = append(found, fn)
		}
	}
	return found
}

// isObject reports whether a word names an object: by its path, its file name, or a library's name
// without version, as in probes (libc).
func isObject(file, word string) bool {
	base := path.Base(file)
	return file == word || base == word || strings.HasPrefix(base, word+".so") || strings.HasPrefix(base, word+"-")
}

// lookUp is a name that is looked for in a file.
type lookUp struct {
	id      callchain.ObjectID
	name    string
	inlined bool
}

// starts returns the offsets of the functions of a name in a function's file, or of the functions that
// it was inlined into. The first call for a file reads its tables.
func (f *functions) starts(fn *function, name string, inlined bool) []uint64 {
	if !fn.hasFile() {
		return nil
	}
	key := lookUp{fn.id, name, inlined}
	starts, known := f.lookUps[key]
	if known {
		return starts
	}
	if file, err := f.file(fn); err == nil && inlined {
		copies, _ := file.Inlined(name) // without debug information there are none
		for _, c := range copies {
			if symbol, ok := file.Lookup(c.Offset); ok {
				starts = append(starts, symbol.Start)
			}
		}
	} else if err == nil {
		all, _ := file.Find(name) // by the tables that can be read
		for i := range all {
			starts = append(starts, all[i].Offset)
		}
	}
	f.lookUps[key] = starts
	return starts
}

// notFound explains why none of the functions with samples has the name.
func (f *functions) notFound(all []*function) error {
	if into := f.inlinedInto(all); len(into) > 0 {
		return fmt.Errorf("%s has no code of its own with samples: it was inlined into %s", f.opts.Function, strings.Join(into, ", "))
	}
	if file := f.without(all); file != "" {
		return fmt.Errorf("%s of %s has no samples: %s", f.opts.Function, file, f.hottest(all))
	}
	var candidates []string
	for _, fn := range all {
		if name := fn.shortName(); !slices.Contains(candidates, name) {
			candidates = append(candidates, name)
		}
	}
	if near := match.Near(f.opts.Function, candidates); len(near) > 0 {
		return fmt.Errorf("no function %q has samples: %s", f.opts.Function, match.DidYouMean(near))
	}
	note := ""
	if i := slices.IndexFunc(all, (*function).interprets); i >= 0 {
		note = fmt.Sprintf(" (functions that %s interprets have no machine code)", path.Base(all[i].object.Path))
	}
	return fmt.Errorf("no function %q has samples: %s%s", f.opts.Function, f.hottest(all), note)
}

// interprets reports whether a function is part of an interpreter.
func (fn *function) interprets() bool { return stack.MayBeInterpreter(fn.object.Path) }

// hottest names the functions that can be shown.
func (f *functions) hottest(all []*function) string {
	if all = f.readable(all); len(all) == 0 {
		return "no function with samples has code that can be read"
	}
	return "the hottest functions are " + strings.Join(names(all), ", ")
}

// names returns the names of the first few functions, as a user may type them.
func names(all []*function) []string { return namesBy(all, (*function).shortName) }

// fullNames returns the names that tell functions of the same name apart.
func fullNames(all []*function) []string {
	return namesBy(all, func(fn *function) string { return fn.fullName() + " of " + fn.object.Path })
}

func namesBy(all []*function, name func(*function) string) (some []string) {
	for _, fn := range all {
		if len(some) == maxNamed {
			break
		}
		if n := name(fn); !slices.Contains(some, n) {
			some = append(some, n)
		}
	}
	return some
}

// inlinedInto returns the functions with samples that contain inlined copies of the function.
func (f *functions) inlinedInto(all []*function) []string {
	return names(withNames(all, f.opts.Function, func(fn *function, name string) bool { return slices.Contains(f.starts(fn, name, true), fn.start) }))
}

// without returns the path of a file that has the function, without samples.
func (f *functions) without(all []*function) string {
	have := withNames(all, f.opts.Function, func(fn *function, name string) bool { return len(f.starts(fn, name, false)) > 0 })
	if len(have) == 0 {
		return ""
	}
	return have[0].object.Path
}

// unreadable returns why the code of the hottest function can't be read.
func (f *functions) unreadable(events []int) error {
	for _, event := range events {
		for _, fn := range f.byEvent(event) {
			return f.check(fn)
		}
	}
	return errors.New("the samples are in no known function")
}

// Errors of code that no file has.
var (
	errGenerated = errors.New("a runtime generated it while the program ran (JIT): the recording has its name, but not its code")
	errRuntime   = errors.New("a runtime interprets or compiles it: the recording has its name, but no machine code")
	errNoFile    = errors.New("no file has this code")
)

// readable returns the functions whose code can be read.
func (f *functions) readable(all []*function) []*function {
	return slices.DeleteFunc(slices.Clone(all), func(fn *function) bool { return !f.isReadable(fn) })
}

func (f *functions) isReadable(fn *function) bool { return f.check(fn) == nil }

// check returns why a function's code can't be read; nil if it can.
func (f *functions) check(fn *function) error {
	switch {
	case fn.object.Kernel:
		if _, err := f.kernel(); err != nil {
			return fmt.Errorf("cannot annotate %s of the kernel: %w", fn.name, err)
		}
	case fn.image == nil:
		return fmt.Errorf("cannot annotate %s: %w", fn.name, errNoFile)
	case fn.image.Kind == process.Function:
		return fmt.Errorf("cannot annotate %s: %w", fn.name, errRuntime)
	case fn.image.Kind == process.Anon:
		return fmt.Errorf("cannot annotate %s: %w", fn.name, errGenerated)
	case !fn.hasFile():
		return fmt.Errorf("cannot annotate %s: %s: %w", fn.name, fn.object.Path, errNoFile)
	case fn.image.Code == nil:
		return fmt.Errorf("cannot annotate %s: %w; --symfs DIRECTORY says where the recorded files are", fn.name, fn.image.Err)
	}
	return nil
}
