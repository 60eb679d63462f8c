package process

import (
	"cmp"
	"io"
	"math"
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
	spans  codeSpans      // where the file has named code so far
	noted  []*reusedCode  // in the order of the file and of time; reused.take takes them
	count  int            // how many have been noted
	last   uint64         // since when the last one counts
	looked uint64         // time of the last read
	epoch  int            // counts how often all was forgotten
}

// maxReused bounds the codes that are told apart by time, of one file. Each takes up to 600 bytes.
// Beyond it, all are forgotten: an address has the last of its names until then.
const maxReused = 1 << 15

// read reads what was written to the file since the last call, and notes the code that lies where
// the file has named other code before. What the first call reads was there before. seen is when the
// caller learned of the write. read reports whether there is something to take.
func (f *codeFile) read(w *codeWatch, seen uint64) bool {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.file == nil {
		return false
	}
	size, modified, err := f.file.stat()
	if err != nil {
		return false
	}
	first, changed := f.reader == nil, false
	switch {
	case first || size < f.reader.Offset(): // the process writes it from the start again
		f.reader = jitmap.NewReader(nil)
		f.reader.Whole = true
		f.spans, changed = make(codeSpans), !first
		first = true
	case f.count >= maxReused:
		changed = true
	}
	if changed {
		f.noted, f.count = nil, 0
		f.epoch++
	}
	f.reader.Continue(io.NewSectionReader(f.file, f.reader.Offset(), math.MaxInt64-f.reader.Offset()))
	since := f.since(w.tick, time.Since(modified), seen, w.clock())
	for {
		e, err := f.reader.Next()
		if err != nil {
			return changed // what follows is read after the next write
		}
		if reuses := f.spans.add(e.Start, e.Start+uint64(e.Size)); !reuses || first && e.Time <= f.begin {
			continue
		}
		f.last = max(f.last, since)
		if e.Time > 0 {
			f.last = max(f.last, e.Time)
		}
		f.noted = append(f.noted, newReusedCode(&e, f.last))
		f.count++
		changed = true
	}
}

// since returns when a file was written. ringtap learned of the write at seen, and looks now: the
// file's own time is age ago, and earlier than the write by tick at most. It counts if ringtap learned
// of the write that late, because it had to wait for a CPU.
func (f *codeFile) since(tick, age time.Duration, seen, now uint64) uint64 {
	since := seen
	if late := age - time.Duration(now-seen); late > tick {
		since = max(f.looked, seen-min(seen, uint64(late)))
	}
	f.looked = now
	return since
}

// codeSpans is a set of addresses. It has them as ranges, sorted and apart from each other, by the
// stretch of memory where they are, so that adding a range moves few others.
type codeSpans map[uint64][]span

// span is a range of offsets in a stretch; end is the one after the last.
type span struct{ start, end uint32 }

const (
	stretch = 64 << 10 // bytes
	// maxCode is the size of code, in bytes, from which on it is not some function's. It is ignored.
	maxCode = 16 << 20
)

// add adds a range of addresses and reports whether some of them were in the set.
func (s codeSpans) add(start, end uint64) (overlaps bool) {
	if end-start > maxCode {
		return false
	}
	for start < end {
		base := start &^ (stretch - 1)
		part := span{uint32(start - base), uint32(min(end-base, stretch))}
		list, found := insert(s[base], part)
		s[base], overlaps = list, overlaps || found
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
