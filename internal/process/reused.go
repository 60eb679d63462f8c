package process

import (
	"bytes"
	"fmt"
	"io"
	"math"
	"slices"
	"sort"

	"github.com/ringtap/ringtap/internal/object/jitmap"
)

// reused distinguishes by time the different code that a process had at the same addresses.
//
//	perf map        time   frames of samples in 1000-1020
//	1000 20 first   -      the Anon object, whose PerfMap leaves out second and third
//	1000 20 second  5 s    from 5 s on: an object of its own, whose PerfMap has second only
//	1010 10 third   7 s    from 7 s on in 1010-1020: another one
//
// It belongs to the table's goroutine.
type reused struct {
	file   *codeFile
	epoch  int           // of file
	codes  []*reusedCode // in the order of the file and of time
	looked int           // codes[:looked] existed at the latest time of CodeAt

	// executable has those of codes[:looked] that are in executable memory: V8 also names its
	// bytecode. pages has their indexes by page, ascending.
	executable []*reusedCode
	pages      map[uint64][]int
	shown      int // executable[:shown] existed at the time of CodeAt
}

// reusedCode is code at addresses where other code was before.
type reusedCode struct {
	start, end uint64 // addresses
	since      uint64 // CLOCK_MONOTONIC, ns
	offset     int64  // of its entry in the file, in bytes
	line       string // of a perf map
	object     *Object
}

func newReusedCode(e *jitmap.Entry, since uint64) *reusedCode {
	return &reusedCode{
		start:  e.Start,
		end:    e.Start + uint64(e.Size),
		since:  since,
		offset: e.Offset,
		line:   perfMapLine(e),
	}
}

// cost estimates the bytes used for a code, here and in reused.pages.
func (c *reusedCode) cost() int {
	return len(c.line) + 100 + 8*int((c.end-1)/page-c.start/page)
}

// perfMapLine formats an entry as a line of a perf map.
func perfMapLine(e *jitmap.Entry) string {
	return fmt.Sprintf("%x %x %s\n", e.Start, e.Size, bytes.ReplaceAll(e.Name, []byte("\n"), []byte(" ")))
}

// take moves the file's noted code to r.codes.
func (r *reused) take() {
	r.file.mu.Lock()
	noted, epoch := r.file.noted, r.file.epoch
	r.file.noted = nil
	r.file.mu.Unlock()
	if epoch != r.epoch {
		*r = reused{file: r.file, epoch: epoch, shown: -1}
	}
	r.codes = append(r.codes, noted...)
}

// show makes find return the code that existed at the time when. It reports whether find's
// results for the memory of o change.
func (r *reused) show(when uint64, o *Object) (changes bool) {
	for ; r.looked < len(r.codes) && r.codes[r.looked].since <= when; r.looked++ {
		c := r.codes[r.looked]
		i, ok := find(o.owner.mappings, c.start)
		if !ok || o.owner.mappings[i].object != o {
			continue
		}
		if r.pages == nil {
			r.pages = make(map[uint64][]int)
		}
		for n := c.start / page; n <= (c.end-1)/page; n++ {
			r.pages[n] = append(r.pages[n], len(r.executable))
		}
		r.executable = append(r.executable, c)
	}
	shown := sort.Search(len(r.executable), func(i int) bool { return r.executable[i].since > when })
	changes = shown != r.shown
	r.shown = shown
	return changes
}

// until returns the range of times in which show changes nothing.
func (r *reused) until() (from, until uint64) {
	until = math.MaxUint64
	if r.shown > 0 {
		from = r.executable[r.shown-1].since
	}
	if r.shown < len(r.executable) {
		until = r.executable[r.shown].since
	}
	if r.looked < len(r.codes) {
		until = min(until, r.codes[r.looked].since)
	}
	return from, until
}

// find returns the code that replaced other code at an address, or nil.
func (r *reused) find(pc uint64) *reusedCode {
	for _, i := range slices.Backward(r.pages[pc/page]) {
		if c := r.executable[i]; i < r.shown && pc >= c.start && pc < c.end {
			return c
		}
	}
	return nil
}

// CodeAt makes Find name generated code as of the time when, in nanoseconds of the host's
// clock. With Options.FollowCode it must be called before each record.
func (t *Table) CodeAt(when uint64) {
	w := t.code
	if w == nil {
		return
	}
	w.at = when
	changes := w.changes.Load()
	if changes == w.looked && when >= w.from && when < w.until {
		return
	}
	w.looked, w.from, w.until = changes, 0, math.MaxUint64
	for o := range w.objects {
		o.reused.take()
		if o.reused.show(when, o) {
			t.changed(o)
		}
		from, until := o.reused.until()
		w.from, w.until = max(w.from, from), min(w.until, until)
	}
}

// changed gives new versions to the mappings of all processes that may map an Anon object: its
// owner, and its forks.
func (t *Table) changed(o *Object) {
	for p := range t.kept {
		if p == o.owner || p.heir && slices.ContainsFunc(p.mappings, func(m mapping) bool { return m.object == o }) {
			p.changed()
		}
	}
}

// watchCode starts to watch an object's open perf map.
func (t *Table) watchCode(o *Object) {
	if t.code == nil || o.reused != nil {
		return
	}
	if err := t.code.watch(o); err != nil {
		t.log.Info("code that takes the place of other code is not told apart", "pid", o.PID, "error", err)
	}
}

// findReused returns the code at an address of an Anon object as a mapping of its own. It
// returns false if that code did not replace other code.
func (t *Table) findReused(o *Object, pc uint64) (mapping, bool) {
	c := o.reused.find(pc)
	if c == nil {
		return mapping{}, false
	}
	if c.object == nil {
		c.object = &Object{Kind: Anon, Path: o.Path, PID: o.PID, owner: o.owner, line: c.line}
	}
	return mapping{start: c.start, end: c.end, offset: c.start, object: c.object}, true
}

// formerNames reads, as a perf map, the names of the code that was first at its addresses. If
// entries of a perf map overlap, the last one counts. So it writes those in codes first, in
// reverse order: they count only where there is no other entry.
type formerNames struct {
	codes []*reusedCode // in the order of the file
	in    *jitmap.Reader
	text  bytes.Buffer
	begun bool
}

func newFormerNames(codes []*reusedCode, file io.Reader) *formerNames {
	return &formerNames{codes: codes, in: jitmap.NewReader(file)}
}

// Read implements io.Reader.
func (f *formerNames) Read(b []byte) (int, error) {
	if !f.begun {
		f.begun = true
		for _, c := range slices.Backward(f.codes) {
			f.text.WriteString(c.line)
		}
	}
	for f.text.Len() == 0 {
		e, err := f.in.Next()
		if err != nil {
			return 0, err
		}
		if len(f.codes) > 0 && f.codes[0].offset == e.Offset {
			f.codes = f.codes[1:]
			continue
		}
		f.text.WriteString(perfMapLine(&e))
	}
	return f.text.Read(b)
}
