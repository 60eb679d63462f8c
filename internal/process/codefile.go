package process

import (
	"cmp"
	"io"
	"slices"
	"sync"
	"time"

	"github.com/ringtap/ringtap/internal/jitmap"
)

// codeFile is a perf map or a jitdump file that a process writes.
type codeFile struct {
	watch int32  // inotify's descriptor
	begin uint64 // records of a jitdump file are new from then on

	mu     sync.Mutex
	file   *file          // of an object that is watched; nil once no object is
	reader *jitmap.Reader // nil until the first read
	first  bool           // the reader has not yet reached the end of the file
	spans  codeSpans      // where the file has named code so far
	noted  []*reusedCode  // in the order of the file and of time; reused.take takes them
	bytes  int            // estimate of what has been noted
	last   uint64         // since when the last one counts
	looked uint64         // time of the last read that reached the end
	epoch  int            // counts how often all was forgotten
}

const (
	// maxCodeFile bounds what is read of a file, in bytes, as symbols.MaxPerfMap does.
	maxCodeFile = 64 << 20
	// maxReusedBytes bounds what one file's reused code takes. Beyond it the watch forgets all of it,
	// and each address has its last name again.
	maxReusedBytes = 16 << 20
	// readAtOnce is how many entries are read while the file is locked. CodeAt waits for the lock.
	readAtOnce = 4096
)

// read reads what was written to the file since the last call, and notes the code that lies where
// the file has named other code before. What the first call reads was there before. seen is when the
// caller learned of the write. read reports whether there is something to take.
func (f *codeFile) read(w *codeWatch, seen uint64) (changed bool) {
	for more := true; more; {
		var changes bool
		more, changes = f.readSome(w, seen, readAtOnce)
		changed = changed || changes
	}
	return changed
}

// readSome reads up to n entries. It reports whether there may be more, and whether there is something
// to take.
func (f *codeFile) readSome(w *codeWatch, seen uint64, n int) (more, changed bool) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.file == nil {
		return false, false
	}
	size, modified, err := f.file.stat()
	if err != nil {
		return false, false
	}
	if f.reader == nil || size < f.reader.Offset() { // the process writes it from the start again
		if changed = f.reader != nil; changed {
			f.forget()
		}
		f.reader = jitmap.NewReader(nil)
		f.reader.Whole = true
		f.first, f.spans = true, make(codeSpans)
	}
	start := f.reader.Offset()
	f.reader.Continue(io.NewSectionReader(f.file, start, max(0, maxCodeFile-start)))
	now := w.clock()
	since := f.since(w.tick, time.Since(modified), seen, now)
	for range n {
		e, err := f.reader.Next()
		if err != nil {
			f.first, f.looked = false, now
			return false, changed // what follows is read after the next write
		}
		if reuses := f.spans.add(e.Start, e.Start+uint64(e.Size)); !reuses || f.first && e.Time <= f.begin {
			continue
		}
		f.last = max(f.last, since)
		if e.Time > 0 {
			f.last = max(f.last, e.Time)
		}
		if f.bytes >= maxReusedBytes {
			f.forget()
		}
		c := newReusedCode(&e, f.last)
		f.noted = append(f.noted, c)
		f.bytes += c.cost()
		changed = true
	}
	return true, changed
}

// forget forgets the code that was noted.
func (f *codeFile) forget() {
	f.noted, f.bytes = nil, 0
	f.epoch++
}

// since returns when a file was written. ringtap learned of the write at seen, and looks now: the
// file's own time is age ago, and earlier than the write by tick at most. It counts if ringtap learned
// of the write that late, because it had to wait for a CPU.
func (f *codeFile) since(tick, age time.Duration, seen, now uint64) uint64 {
	if late := age - time.Duration(now-seen); late > tick {
		return max(f.looked, seen-min(seen, uint64(late)))
	}
	return seen
}

// codeSpans is a set of addresses: sorted, disjoint ranges, grouped by 64 KiB stretch so that adding
// a range moves few others.
type codeSpans map[uint64][]span

// span is a range of offsets in a stretch; end is the one after the last.
type span struct{ start, end uint32 }

const (
	stretch = 64 << 10 // bytes
	// maxStretches bounds the stretches of a file: a gigabyte of addresses. add ignores others.
	maxStretches = 1 << 14
	// maxCode is the size in bytes above which an entry is not one function. add ignores it.
	maxCode = 1 << 20
)

// add adds a range of addresses and reports whether some of them were in the set.
func (s codeSpans) add(start, end uint64) (overlaps bool) {
	if end-start > maxCode {
		return false
	}
	for start < end {
		base := start &^ (stretch - 1)
		part := span{uint32(start - base), uint32(min(end-base, stretch))}
		if list, known := s[base]; known || len(s) < maxStretches {
			list, found := insert(list, part)
			s[base], overlaps = list, overlaps || found
		}
		if start = base + uint64(part.end); start == 0 { // the last address there is
			break
		}
	}
	return overlaps
}

// insert adds a span to a list, joined with those that it overlaps or touches. It reports whether it
// overlaps any.
func insert(list []span, add span) (joined []span, overlaps bool) {
	i, _ := slices.BinarySearchFunc(list, add.start, func(s span, start uint32) int { return cmp.Compare(s.end, start) })
	j := i
	for ; j < len(list) && list[j].start <= add.end; j++ {
		overlaps = overlaps || list[j].start < add.end && add.start < list[j].end
		add.start, add.end = min(add.start, list[j].start), max(add.end, list[j].end)
	}
	return slices.Replace(list, i, j, add), overlaps
}
