package collect

// lastReads tells which pages reads have used, by the tracepoint
// mm_filemap_get_pages. That names the pages from where a read stands to the end of
// what it wants, but not each time: where the last page at hand is still on its way
// from the disk the read takes those before it without a word, and the next record
// begins behind them (filemap_get_pages in mm/filemap.c). What was left out is
// inferred from the thread's last read and its last readahead.
type lastReads map[uint32]lastRead // by thread

// lastRead is what a thread read last, as far as it is known.
type lastRead struct {
	at    page   // where it stood
	start uint64 // the first page
	last  uint64 // the last page that it wanted
}

// used returns where the pages begin that a read has used, whose record names them
// from one page to the last. Begun is the readahead that the thread has begun since
// the last record, nil if there is none.
func (l lastReads) used(tid uint32, at page, last uint64, begun *reading) (first page) {
	before, known := l[tid]
	known = known && before.at.file == at.file
	start := at.index
	switch {
	case known && before.last == last && before.at.index <= at.index: // the same read goes on
		start, first = before.start, before.at
		l[tid] = lastRead{at, start, last}
		return first
	case begun != nil && begun.first.file == at.file && begun.first.index < at.index && at.index <= begun.last.index:
		// It had to wait for pages that it had read ahead, and began with them.
		start = begun.first.index
	case known && before.last < at.index && alike(last-before.last, before.last-before.start+1):
		// It goes on where the one before ended, and wants as much.
		start = before.last + 1
	}
	l[tid] = lastRead{at, start, last}
	return page{at.file, start}
}

// alike says that reads of so many pages may want the same number of bytes: they
// need not begin with a page.
func alike(a, b uint64) bool { return max(a, b)-min(a, b) <= 1 }
