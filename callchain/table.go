package callchain

import (
	"debug/elf"
	"slices"
	"sort"
	"sync"

	"github.com/ringtap/ringtap/internal/object/callframe"
	"github.com/ringtap/ringtap/internal/object/elfimage"
	"github.com/ringtap/ringtap/internal/object/gotable"
)

// Table holds, for each instruction of an object, how to get from its frame to the caller's. It
// computes a function's rules at the first lookup, from the file, which must stay readable.
// Goroutines may share a Table.
type Table struct {
	arch   Arch
	file   *elfimage.Image
	code   []*elf.ProgHeader  // executable segments
	eh     *callframe.Section // nil: none
	golang *gotable.Table     // nil: none

	mu      sync.Mutex
	units   []unit // sorted, without overlaps
	bytes   int    // of units
	builder builder
	late    bool               // openLate has run: debug and fixed are set
	debug   *callframe.Section // nil: none
	fixed   []function         // linkage tables, trampolines

	crossed   bool // crossings is set
	crossings []Crossing

	framed        sync.Once
	framePointers bool
}

// unit holds the rules for the file offsets [start, end): a function, or the part of one that
// is not in another unit.
type unit struct {
	start, end uint64
	rows       *rows
}

// maxBytes bounds the cached rules: some tens of thousands of functions. When it is exceeded,
// all are dropped and computed again on demand.
const maxBytes = 16 << 20

// Bytes returns the memory that the cached rules take.
func (t *Table) Bytes() int {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.bytes
}

// Functions returns the number of functions whose rules are cached.
func (t *Table) Functions() int {
	t.mu.Lock()
	defer t.mu.Unlock()
	return len(t.units)
}

// find returns the rules for the code byte at a file offset, or nil if the file has none.
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

// start returns the file offset of the start of the function with the code byte at offset.
func (t *Table) start(offset uint64) (uint64, bool) {
	t.mu.Lock()
	defer t.mu.Unlock()
	f, ok := t.function(offset)
	return f.start, ok
}

// FramePointers reports whether most of the object's functions keep frame records. The kernel's
// own frame-pointer walk is then right in all frames but the leaf. It checks a sample of the
// functions.
func (t *Table) FramePointers() bool {
	t.framed.Do(func() {
		t.mu.Lock()
		defer t.mu.Unlock()
		t.framePointers = t.mostlyFramed()
	})
	return t.framePointers
}

// polled is the number of functions per section that FramePointers checks.
const polled = 64

func (t *Table) mostlyFramed() bool {
	framed, all := 0, 0
	if t.golang != nil { // Go's functions keep frame records
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
