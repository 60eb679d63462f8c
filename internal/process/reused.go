package process

import (
	"bytes"
	"fmt"
	"io"
	"math"
	"slices"
	"sort"

	"github.com/ringtap/ringtap/internal/jitmap"
)

// reused tells apart by time the codes that a process has had at the same addresses.
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
	looked int           // of codes: those that were there at the latest time of CodeAt

	// executable has those of codes[:looked] that are in executable memory: V8 names its bytecode
	// too. pages has their indexes by page, ascending.
	executable []*reusedCode
	pages      map[uint64][]int
	shown      int // executable[:shown] were there at the time of CodeAt
}

// reusedCode is code at addresses where other code was before.
type reusedCode struct {
	start, end uint64 // addresses
	since      uint64 // CLOCK_MONOTONIC, ns
	offset     int64  // of its entry in the file, bytes
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

// cost estimates the bytes that a code takes, here and in reused.pages.
func (c *reusedCode) cost() int {
	return len(c.line) + 100 + 8*int((c.end-1)/page-c.start/page)
}

// perfMapLine returns an entry as a line of a perf map.
func perfMapLine(e *jitmap.Entry) string {
	return fmt.Sprintf("%x %x %s\n", e.Start, e.Size, bytes.ReplaceAll(e.Name, []byte("\n"), []byte(" ")))
}

// take takes what the file has noted.
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

// show makes find return what was there at a time. It reports whether find returns something else
// than before for the memory of o.
func (r *reused) show(at uint64, o *Object) (changes bool) {
	for ; r.looked < len(r.codes) && r.codes[r.looked].since <= at; r.looked++ {
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
	shown := sort.Search(len(r.executable), func(i int) bool { return r.executable[i].since > at })
	changes = shown != r.shown
	r.shown = shown
	return changes
}

// until returns the times between which show changes nothing.
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

// find returns the code that took the place of other code at an address; nil if none has.
func (r *reused) find(pc uint64) *reusedCode {
	for _, i := range slices.Backward(r.pages[pc/page]) {
		if c := r.executable[i]; i < r.shown && pc >= c.start && pc < c.end {
			return c
		}
	}
	return nil
}

// CodeAt makes Find name generated code as of a time, in nanoseconds of the host's clock. It is
// called before each record with Options.FollowCode.
func (t *Table) CodeAt(at uint64) {
	w := t.code
	if w == nil {
		return
	}
	w.at = at
	changes := w.changes.Load()
	if changes == w.looked && at >= w.from && at < w.until {
		return
	}
	w.looked, w.from, w.until = changes, 0, math.MaxUint64
	for o := range w.objects {
		o.reused.take()
		if o.reused.show(at, o) {
			t.changed(o)
		}
		from, until := o.reused.until()
		w.from, w.until = max(w.from, from), min(w.until, until)
	}
}

// changed gives new versions to the mappings of all processes that may map an Anon object: of its
// owner, and of forks.
func (t *Table) changed(o *Object) {
	for p := range t.kept {
		if p == o.owner || p.heir && slices.ContainsFunc(p.mappings, func(m mapping) bool { return m.object == o }) {
			p.changed()
		}
	}
}

// watchCode watches an object's perf map, which was opened.
func (t *Table) watchCode(o *Object) {
	if t.code == nil || o.reused != nil {
		return
	}
	if err := t.code.watch(o); err != nil {
		t.log.Info("code that takes the place of other code is not told apart", "pid", o.PID, "error", err)
	}
}

// findReused returns the code at an address of an Anon object as a mapping that it alone has; false
// if no code before it was there.
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

// formerNames reads the names of the code that was at its addresses first, as a perf map. Where
// the entries of a perf map overlap the last one counts: so those of codes come first, backwards,
// and count where there is no other.
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
