package readahead

import "github.com/ringtap/ringtap/internal/collect/pages"

// lastReads finds out which pages reads have used, by the tracepoint mm_filemap_get_pages. The
// tracepoint names the pages from a read's position to the end of what it wants, but some records
// are missing. If the last page at hand is still being read from disk, the read takes the pages
// before it without a record. The next record starts after those pages (filemap_get_pages in
// mm/filemap.c). What is missing is inferred from the thread's previous read and its last
// readahead.
type lastReads map[uint32]lastRead // by thread

// lastRead is the latest known read of a thread.
type lastRead struct {
	at    pages.Page // its position
	start uint64     // the first page
	last  uint64     // the last page that it wanted
}

// used returns the first page that a read has used. The record of the read names the pages from
// page to last. begun is the readahead that the thread has started since the previous record, or
// nil.
func (l lastReads) used(tid uint32, page pages.Page, last uint64, begun *reading) (first pages.Page) {
	before, known := l[tid]
	known = known && before.at.File == page.File
	start := page.Index
	switch {
	case known && before.last == last && before.at.Index <= page.Index: // the same read continues
		start, first = before.start, before.at
		l[tid] = lastRead{page, start, last}
		return first
	case begun != nil && begun.first.File == page.File && begun.first.Index < page.Index && page.Index <= begun.last.Index:
		// It had to wait for the pages that it read ahead, and started with them.
		start = begun.first.Index
	case known && before.last < page.Index && alike(last-before.last, before.last-before.start+1):
		// It continues where the previous read ended, and has the same length.
		start = before.last + 1
	}
	l[tid] = lastRead{page, start, last}
	return pages.Page{File: page.File, Index: start}
}

// alike reports whether reads of a and b pages may have the same number of bytes. Reads need not
// start at the start of a page.
func alike(a, b uint64) bool { return max(a, b)-min(a, b) <= 1 }
