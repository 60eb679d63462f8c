package record

import (
	"cmp"
	"fmt"
	"log/slog"
	"maps"
	"slices"
	"strings"

	"github.com/ringtap/ringtap/callchain"
	"github.com/ringtap/ringtap/internal/perfdata"
	"github.com/ringtap/ringtap/internal/process"
	"github.com/ringtap/ringtap/internal/profile"
	"github.com/ringtap/ringtap/internal/stack"
	"github.com/ringtap/ringtap/internal/stack/symbolize"
)

// maxPlaces bounds the places whose names a recording gets. They take some 60 bytes each until the end.
const maxPlaces = 1 << 19

// names collects the places in code that samples and their callers have. At the end of the recording it
// names them, so that a reader needs none of the files.
type names struct {
	places  map[callchain.Frame]struct{}
	objects map[callchain.ObjectID]struct{}
	recent  [1 << 12]callchain.Frame // most places were in a stack just before
	full    bool
}

func newNames() *names {
	return &names{places: make(map[callchain.Frame]struct{}), objects: make(map[callchain.ObjectID]struct{})}
}

// add adds the places of frames.
func (n *names) add(frames []callchain.Frame) {
	for _, f := range frames {
		if f.Object >= callchain.Marks {
			continue // no code
		}
		f.Return = false // Offset alone is looked up
		r := &n.recent[(f.Offset^uint64(f.Object)<<32)*0x9e3779b97f4a7c15>>52]
		if *r == f {
			continue
		}
		*r = f
		if _, known := n.places[f]; known {
			continue
		}
		if n.full = len(n.places) == maxPlaces; n.full {
			return
		}
		n.places[f] = struct{}{}
		n.objects[f.Object] = struct{}{}
	}
}

// hold calls hold with each object that has a place, so that its file stays readable: see
// process.Table.Hold.
func (n *names) hold(hold func(callchain.ObjectID)) {
	for id := range n.objects {
		hold(id)
	}
}

// tables names all places. What cannot be read when late is closed has no names.
func (n *names) tables(processes *process.Table, late <-chan struct{}, logger *slog.Logger) []perfdata.SymbolTable {
	places := slices.SortedFunc(maps.Keys(n.places), func(x, y callchain.Frame) int {
		return cmp.Or(cmp.Compare(x.Object, y.Object), cmp.Compare(x.Offset, y.Offset))
	})
	if len(places) == 0 {
		return nil
	}
	set := stack.NewSet([]stack.Stack{{Frames: places}}, processes.Objects())
	named := symbolize.New(symbolize.Options{Host: processes.Host(), Late: late, Logger: logger}).Profile(&set, nil)
	tables := make(map[string]*perfdata.SymbolTable)
	files := make(map[string]int) // the objects of paths
	for i := range named.Frames {
		f := &named.Frames[i]
		kind, path := tableOf(&named.Objects[f.Object], &set, places[i])
		if f.Name == "" || path == "" {
			continue
		}
		if of, twice := files[path]; twice && of != f.Object && kind == perfdata.FileSymbols {
			tables[path] = nil // two files have had this path, and nothing tells them apart
		}
		files[path] = f.Object
		t, made := tables[path]
		if !made {
			t = &perfdata.SymbolTable{Path: path, Kind: kind}
			tables[path] = t
		}
		if t != nil {
			addSymbol(t, f)
		}
	}
	var all []perfdata.SymbolTable
	for _, path := range slices.Sorted(maps.Keys(tables)) {
		t := tables[path]
		if t == nil {
			continue
		}
		if t.Kind == perfdata.GeneratedSymbols {
			t.Symbols = withoutReplaced(t.Symbols)
		}
		all = append(all, *t)
	}
	return all
}

// withoutReplaced leaves out generated functions where others have been, too: a reader cannot know which
// one ran.
func withoutReplaced(symbols []perfdata.Symbol) (alone []perfdata.Symbol) {
	slices.SortFunc(symbols, func(x, y perfdata.Symbol) int {
		return cmp.Or(cmp.Compare(x.Address, y.Address), strings.Compare(x.Name, y.Name))
	})
	var end uint64 // of the functions before
	for i, s := range symbols {
		begins := end
		end = max(end, s.Address+uint64(s.Size))
		if s.Address >= begins && (i+1 == len(symbols) || symbols[i+1].Address >= end) {
			alone = append(alone, s)
		}
	}
	return alone
}

// tableOf returns the path and the kind of the table that has a place. The path is "" for memory that has
// no names.
func tableOf(o *profile.Object, set *stack.Set, place callchain.Frame) (perfdata.SymbolKind, string) {
	switch {
	case place.Object == callchain.Kernel && strings.HasPrefix(o.Path, "[kernel]"):
		return perfdata.KernelSymbols, "[kernel.kallsyms]"
	case place.Object == callchain.Kernel:
		return perfdata.ModuleSymbols, o.Path
	}
	switch image := set.Images[place.Object]; image.Kind {
	case process.File, process.VDSO:
		return perfdata.FileSymbols, image.Path
	case process.Anon:
		return perfdata.GeneratedSymbols, process.GeneratedCode(image.PID)
	}
	return 0, ""
}

// addSymbol adds the function of a frame to a table, or extends it. The frames of a table come by
// address.
func addSymbol(t *perfdata.SymbolTable, f *profile.Frame) {
	name := cmp.Or(f.RawName, f.Name)
	if f.Unnamed {
		name = f.Name
	}
	size := uint32(min(f.Address-f.Start+1, 1<<31))
	if n := len(t.Symbols); n > 0 && t.Symbols[n-1].Address == f.Start {
		t.Symbols[n-1].Size = max(t.Symbols[n-1].Size, size)
		return
	}
	t.Symbols = append(t.Symbols, perfdata.Symbol{Address: f.Start, Size: size, Name: name})
}

// note returns a note if some places have no names, or "".
func (n *names) note() string {
	if !n.full {
		return ""
	}
	return fmt.Sprintf("samples have more than %d places in code: the recording names no others, and its reader looks for their files", maxPlaces)
}
