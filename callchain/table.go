package callchain

import (
	"debug/elf"
	"slices"
	"sort"
	"sync"

	"github.com/ringtap/ringtap/internal/callframe"
	"github.com/ringtap/ringtap/internal/elfimage"
	"github.com/ringtap/ringtap/internal/gotable"
)

// Table says for the instructions of one object how to get from its frame to the
// caller's. It makes the rules of a function when they are first asked for, from
// the file, which must stay readable. Any number of goroutines may use it.
type Table struct {
	arch   Arch
	file   *elfimage.Image
	code   []*elf.ProgHeader  // executable segments
	eh     *callframe.Section // nil: none
	golang *gotable.Table     // nil: none

	mu      sync.Mutex
	units   []unit // sorted, apart from each other
	bytes   int    // of units
	builder builder
	late    bool               // the next two were looked for
	debug   *callframe.Section // nil: none
	fixed   []function         // linkage tables, trampolines

	crossed   bool // crossings are known
	crossings []Crossing

	framed        sync.Once
	framePointers bool
}

// unit is the rules of the file offsets from start up to end: of a function, or of
// a part of one that others lie in.
type unit struct {
	start, end uint64
	rows       *rows
}

// maxBytes bounds the rules that are kept, some tens of thousands of functions.
// Beyond it all are dropped, and made again when they are asked for.
const maxBytes = 16 << 20

// Bytes is the memory that the rules take that were asked for so far.
func (t *Table) Bytes() int {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.bytes
}

// Functions is the number of functions that were asked for so far.
func (t *Table) Functions() int {
	t.mu.Lock()
	defer t.mu.Unlock()
	return len(t.units)
}

// find gives the rules for the code byte at a file offset; nil if the file has
// none there.
func (t *Table) find(offset uint64) *ruleSet {
	t.mu.Lock()
	defer t.mu.Unlock()
	i := sort.Search(len(t.units), func(i int) bool { return t.units[i].start > offset })
	if i > 0 && offset < t.units[i-1].end {
		return t.units[i-1].rows.find(offset)
	}
	f, ok := t.function(offset)
	if !ok {
		return nil
	}
	u := unit{start: f.start, end: f.end, rows: t.compile(&f)}
	if size := u.rows.bytes(); t.bytes+size > maxBytes {
		t.units, t.bytes, i = nil, size, 0
	} else {
		t.bytes += size
	}
	if i > 0 {
		u.start = max(u.start, t.units[i-1].end)
	}
	if i < len(t.units) {
		u.end = min(u.end, t.units[i].start)
	}
	t.units = slices.Insert(t.units, i, u)
	return u.rows.find(offset)
}

// start is the file offset where the function begins that has the code byte at another, as far as the file says.
func (t *Table) start(offset uint64) (uint64, bool) {
	t.mu.Lock()
	defer t.mu.Unlock()
	f, ok := t.function(offset)
	return f.start, ok
}

// FramePointers says whether most of the object's functions keep a chain of
// frame records in the frame pointer, so that the kernel's own walk of that
// chain is right in all but the leaf frame. It looks at some of the functions.
func (t *Table) FramePointers() bool {
	t.framed.Do(func() {
		t.mu.Lock()
		defer t.mu.Unlock()
		t.framePointers = t.mostlyFramed()
	})
	return t.framePointers
}

// polled is how many functions of a section FramePointers looks at.
const polled = 64

func (t *Table) mostlyFramed() bool {
	framed, all := 0, 0
	if t.golang != nil { // Go's functions keep them
		framed, all = int(t.golang.Len), int(t.golang.Len)
	}
	section := t.eh
	if section == nil && t.golang == nil {
		section = t.debug
	}
	if section == nil {
		return framed > 0
	}
	n := section.Len()
	looked, with := 0, 0
	for i := range min(n, polled) {
		f, ok := section.At(i * n / min(n, polled))
		if !ok {
			continue
		}
		if f, ok := t.place(function{frame: f}, f.Start, f.End); ok {
			looked++
			if t.builder.reset(t.arch, f.start, f.end); t.builder.frame(&f) {
				with++
			}
		}
	}
	if looked > 0 {
		framed, all = framed+n*with/looked, all+n
	}
	return framed*2 > all
}
