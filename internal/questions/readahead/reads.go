package readahead

import "github.com/ringtap/ringtap/internal/questions/pages"

// lastReads tells which pages reads have used, by the tracepoint
// mm_filemap_get_pages. That names the pages from where a read stands to the end of
// what it wants, but not each time: where the last page at hand is still on its way
// from the disk the read takes those before it without a word, and the next record
// begins behind them (filemap_get_pages in mm/filemap.c). What was left out is
// inferred from the thread's last read and its last readahead.
type lastReads map[uint32]lastRead // by thread

// lastRead is what a thread read last, as far as it is known.
type lastRead struct {
	at    pages.Page // where it stood
	start uint64     // the first page
	last  uint64     // the last page that it wanted
}

// used returns where the pages begin that a read has used, whose record names them
// from one page to the last. Begun is the readahead that the thread has begun since
// the last record, nil if there is none.
func (l lastReads) used(tid uint32, at pages.Page, last uint64, begun *reading) (first pages.Page) {
	before, known := l[tid]
	known = known && before.at.File == at.File
	start := at.Index
	switch {
	case known && before.last == last && before.at.Index <= at.Index: // the same read goes on
		start, first = before.start, before.at
		l[tid] = lastRead{at, start, last}
		return first
	case begun != nil && begun.first.File == at.File && begun.first.Index < at.Index && at.Index <= begun.last.Index:
		// It had to wait for pages that it had read ahead, and began with them.
		start = begun.first.Index
	case known && before.last < at.Index && alike(last-before.last, before.last-before.start+1):
		// It goes on where the one before ended, and wants as much.
		start = before.last + 1
	}
	l[tid] = lastRead{at, start, last}
	return pages.Page{File: at.File, Index: start}
}

// alike says that reads of so many pages may want the same number of bytes: they
// need not begin with a page.
func alike(a, b uint64) bool { return max(a, b)-min(a, b) <= 1 }
