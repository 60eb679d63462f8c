package main

import (
	"github.com/spf13/pflag"

	"github.com/ringtap/ringtap/internal/collect"
	"github.com/ringtap/ringtap/internal/collect/readahead"
	"github.com/ringtap/ringtap/internal/collect/table"
)

const readaheadUsage = `readahead [options] [COLLECTOR...] [-- COMMAND ARG...]

Count the pages that the kernel reads ahead from files, by process and call stack, and how
many of them were used, by a read or a mapping. Both columns cover the whole run so far.

  ringtap readahead -d 60                  the whole host
  ringtap readahead -k -p 4242             one process, whoever uses its pages
  ringtap readahead --out r.html -- ./prog a command, as a flame graph

The pages that a read asks for are part of what is read ahead. Mapped pages count as used
when they are mapped, some of them together with the page that was touched. Pages that
leave the cache before anything used them stay unused. ringtap does not see files that are
read past the page cache, or what file systems read for themselves.
`

type readaheadQuestion struct{ plain }

func (q *readaheadQuestion) flags(*pflag.FlagSet) {}

func (q *readaheadQuestion) open(run *collect.Run) ([]table.Collector, error) {
	return readahead.Open(run)
}
