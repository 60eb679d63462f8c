package process

import (
	"cmp"
	"io"
	"slices"
	"sync"
	"time"

	"github.com/ringtap/ringtap/internal/object/jitmap"
)

// codeFile is a perf map or a jitdump file that a process writes.
type codeFile struct {
	watch int32  // inotify's descriptor
	begin uint64 // older records of a jitdump file are not new

	mu     sync.Mutex
	file   *file          // of a watched object; nil once there is none
	reader *jitmap.Reader // nil until the first read
	first  bool           // the reader has not yet reached the end of the file
	spans  codeSpans      // address ranges that the file has named so far
	noted  []*reusedCode  // in the order of the file and of time; reused.take empties it
	bytes  int            // estimated size of noted
	last   uint64         // time since when the last noted code is valid
	looked uint64         // time of the last read that reached the end
	epoch  int            // counts calls of forget
}

const (
	// maxCodeFile bounds how much of a file is read, in bytes, like symbols.MaxPerfMap.
	maxCodeFile = 64 << 20
	// maxReusedBytes bounds the memory for one file's reused code. Beyond it the watch forgets
	// all of it, and each address has its last name again.
	maxReusedBytes = 16 << 20
	// readAtOnce is how many entries are read under the file's lock, which CodeAt waits for.
	readAtOnce = 4096
)

// read reads what was written to the file since the last call. It notes code at addresses where
// the file has named other code before. What the first call reads is not new. seen is when the
// caller learned of the write. read reports whether f.noted or f.epoch changed.
func (f *codeFile) read(w *codeWatch, seen uint64) (changed bool) {
	for more := true; more; {
		var changes bool
		more, changes = f.readSome(w, seen, readAtOnce)
		changed = changed || changes
	}
	return changed
}

// readSome reads up to n entries. It reports whether there may be more entries, and whether
// f.noted or f.epoch changed.
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
			return false, changed // the rest is read after the next write
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

// forget forgets the noted code.
func (f *codeFile) forget() {
	f.noted, f.bytes = nil, 0
	f.epoch++
}

// since returns when a file was written. ringtap learned of the write at seen; now is the
// current time. age is the age of the file's own time stamp, which may be early by tick. The
// time stamp counts only if ringtap learned of the write late, because it waited for a CPU.
func (f *codeFile) since(tick, age time.Duration, seen, now uint64) uint64 {
	if late := age - time.Duration(now-seen); late > tick {
		return max(f.looked, seen-min(seen, uint64(late)))
	}
	return seen
}

// codeSpans is a set of addresses: sorted, disjoint ranges. They are grouped by 64 KiB
// stretches, so that adding a range moves few others.
type codeSpans map[uint64][]span

// span is a range [start, end) of offsets in a stretch.
type span struct{ start, end uint32 }

const (
	stretch = 64 << 10 // bytes
	// maxStretches bounds the stretches of a file: a gigabyte of addresses. add ignores more.
	maxStretches = 1 << 14
	// maxCode is the largest size in bytes of one function. add ignores larger entries.
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
		if start = base + uint64(part.end); start == 0 { // the end of the address space
			break
		}
	}
	return overlaps
}

// insert adds a span to a list and joins it with spans that it overlaps or touches. It reports
// whether it overlaps any.
func insert(list []span, add span) (joined []span, overlaps bool) {
	i, _ := slices.BinarySearchFunc(list, add.start, func(s span, start uint32) int { return cmp.Compare(s.end, start) })
	j := i
	for ; j < len(list) && list[j].start <= add.end; j++ {
		overlaps = overlaps || list[j].start < add.end && add.start < list[j].end
		add.start, add.end = min(add.start, list[j].start), max(add.end, list[j].end)
	}
	return slices.Replace(list, i, j, add), overlaps
}
