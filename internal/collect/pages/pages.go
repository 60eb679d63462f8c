// Package pages records who owns pages of files or sectors of disks. The collectors of readahead
// and of block requests give them to the stack that asked for them.
package pages

import "sort"

// File is a file as in the kernel's tracepoints. The sectors of a disk are also a File, and its
// Inode is the kind of operation.
type File struct{ Device, Inode uint64 }

// Page is a page of a file, or a sector.
type Page struct {
	File
	Index uint64
}

// Owners records the owners of pages. Adjacent pages with the same owner are stored as one run,
// because a readahead has hundreds of pages.
type Owners[T comparable] struct {
	parts map[stretch]*[]run[T]
	runs  int
}

// stretch is a part of a file. It bounds how many runs move when one changes.
type stretch struct {
	File
	number uint64
}

// stretchPages is the number of pages of a stretch: 128 MiB with pages of 4 KiB.
const stretchPages = 1 << 15

// run is the pages of an owner from first up to, but not including, end.
type run[T comparable] struct {
	first, end uint64
	owner      T
}

// New returns an Owners without pages.
func New[T comparable]() Owners[T] { return Owners[T]{parts: make(map[stretch]*[]run[T])} }

// Runs returns the number of runs.
func (a *Owners[T]) Runs() int { return a.runs }

// Bytes returns the memory of the runs.
func (a *Owners[T]) Bytes() int {
	const runBytes, stretchBytes = 48, 128
	return runBytes*a.runs + stretchBytes*len(a.parts)
}

// maxRange bounds how many pages one record can be about. A read moves at most 2 GiB, and so does a
// disk request.
const maxRange = 1 << 22

// each calls f for each stretch that contains some of n pages.
func each(first Page, n uint64, f func(key stretch, from, to uint64)) {
	end := first.Index + min(n, maxRange)
	for from := first.Index; from < end; {
		number := from / stretchPages
		to := min(end, (number+1)*stretchPages)
		f(stretch{first.File, number}, from, to)
		from = to
	}
}

// Add gives n pages to owner. They lose any other owner.
func (a *Owners[T]) Add(first Page, n uint64, owner T) {
	a.Take(first, n, func(T, uint64) {})
	each(first, n, func(key stretch, from, to uint64) {
		runs := a.parts[key]
		if runs == nil {
			runs = new([]run[T])
			a.parts[key] = runs
		}
		s := *runs
		i := sort.Search(len(s), func(i int) bool { return s[i].end >= from })
		if i < len(s) && s[i].end == from && s[i].owner == owner {
			s[i].end = to
			return
		}
		for i < len(s) && s[i].first < from {
			i++
		}
		s = append(s, run[T]{})
		copy(s[i+1:], s[i:])
		s[i] = run[T]{from, to, owner}
		*runs = s
		a.runs++
	})
}

// Take removes n pages from their owners. It calls taken with each owner and its number of pages,
// in page order.
func (a *Owners[T]) Take(first Page, n uint64, taken func(owner T, n uint64)) {
	if len(a.parts) == 0 {
		return
	}
	each(first, n, func(key stretch, from, to uint64) {
		runs := a.parts[key]
		if runs == nil {
			return
		}
		before := len(*runs)
		*runs = takeOf(*runs, from, to, taken)
		a.runs += len(*runs) - before
		if len(*runs) == 0 {
			delete(a.parts, key)
		}
	})
}

// Any reports whether any of n pages has an owner.
func (a *Owners[T]) Any(first Page, n uint64) (found bool) {
	each(first, n, func(key stretch, from, to uint64) {
		if runs := a.parts[key]; runs != nil {
			i := sort.Search(len(*runs), func(i int) bool { return (*runs)[i].end > from })
			found = found || i < len(*runs) && (*runs)[i].first < to
		}
	})
	return found
}

// All yields the owner of every run.
func (a *Owners[T]) All(yield func(owner T) bool) {
	for _, runs := range a.parts {
		for i := range *runs {
			if !yield((*runs)[i].owner) {
				return
			}
		}
	}
}

// takeOf removes the pages of a range from runs.
func takeOf[T comparable](runs []run[T], from, to uint64, taken func(owner T, n uint64)) []run[T] {
	i := sort.Search(len(runs), func(i int) bool { return runs[i].end > from })
	if i == len(runs) || runs[i].first >= to {
		return runs
	}
	if r := runs[i]; r.first < from && r.end > to { // out of the middle of a run
		taken(r.owner, to-from)
		runs = append(runs, run[T]{})
		copy(runs[i+1:], runs[i:])
		runs[i].end, runs[i+1].first = from, to
		return runs
	}
	keep := i
	for ; i < len(runs) && runs[i].first < to; i++ {
		r := runs[i]
		taken(r.owner, min(r.end, to)-max(r.first, from))
		switch {
		case r.first < from:
			r.end = from
		case r.end > to:
			r.first = to
		default:
			continue
		}
		runs[keep] = r
		keep++
	}
	return append(runs[:keep], runs[i:]...)
}
