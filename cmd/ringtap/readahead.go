package main

import (
	"errors"
	"fmt"
	"io/fs"

	"github.com/spf13/pflag"

	"github.com/ringtap/ringtap/ftrace"
	"github.com/ringtap/ringtap/internal/probe"
	"github.com/ringtap/ringtap/internal/questions/readahead"
	"github.com/ringtap/ringtap/internal/table"
	"github.com/ringtap/ringtap/perfevent"
)

const readaheadUsage = `readahead [flags] [-- COMMAND ARG...]

Counts the pages that the kernel reads ahead from files, by process and call stack of
the readahead, and which of them have been used: asked for by a read, or mapped. What is
in no table any more is in the next one too: both columns tell of the whole run so far.

  ringtap readahead -d 60                 the whole host
  ringtap readahead -k -p 4242            one process, whoever uses its pages
  ringtap readahead --out r.html -- ./prog

The pages that were asked for are part of what is read ahead. Mapped pages count as used
when they are mapped, some around the one that was touched with it. Pages that leave the
cache before anything used them stay unused. Files read past the page cache, and what
file systems read for themselves, are not seen.
`

// readahead is the question of readahead.
type readaheadQuestion struct{}

func (q *readaheadQuestion) flags(*pflag.FlagSet) {}

func (q *readaheadQuestion) take(args []string) ([]string, error) { return args, nil }

func (q *readaheadQuestion) validate() error { return nil }

func (q *readaheadQuestion) make(a *asking) ([]table.Collector, error) {
	tracefs, _, err := ftrace.Mount()
	if err != nil {
		return nil, err
	}
	collector, err := q.byTracepoints(a, tracefs)
	if errors.Is(err, fs.ErrNotExist) {
		a.out.logger(a.verbose).Info("readahead by kernel probes", "why", err)
		collector, err = q.byProbes(a, tracefs)
	}
	if err != nil {
		return nil, err
	}
	return []table.Collector{collector}, nil
}

// byTracepoints makes the collector; the error is fs.ErrNotExist where the kernel
// lacks one of them.
func (q *readaheadQuestion) byTracepoints(a *asking, tracefs *ftrace.FS) (*readahead.Collector, error) {
	var formats readahead.Formats
	for _, want := range []struct {
		system, event string
		into          **ftrace.Format
	}{
		{"readahead", "page_cache_ra_unbounded", &formats.Unbounded},
		{"readahead", "page_cache_ra_order", &formats.Order},
		{"filemap", "mm_filemap_add_to_page_cache", &formats.Added},
		{"filemap", "mm_filemap_delete_from_page_cache", &formats.Deleted},
		{"filemap", "mm_filemap_get_pages", &formats.Got},
		{"filemap", "mm_filemap_map_pages", &formats.Mapped},
		{"filemap", "mm_filemap_fault", &formats.Faulted},
	} {
		var err error
		if *want.into, err = tracefs.Format(want.system, want.event); err != nil {
			return nil, err
		}
	}
	return readahead.New(formats, a.stacks())
}

// mappedPage is how struct page says of what file it is and where
// (include/linux/mm_types.h): the same on all 64-bit kernels before folios had
// pages of their own.
const mappedPage = " mapping=+24(%[1]s):x64 index=+32(%[1]s):u64"

// byProbes makes the collector on kernels without the tracepoints: Linux 5.18 to
// 6.17.
func (q *readaheadQuestion) byProbes(a *asking, tracefs *ftrace.FS) (*readahead.Collector, error) {
	var probes readahead.Probes
	var err error
	for event, into := range map[string]**ftrace.Format{"mm_filemap_add_to_page_cache": &probes.Added, "mm_filemap_delete_from_page_cache": &probes.Deleted} {
		if *into, err = tracefs.Format("filemap", event); err != nil {
			return nil, err
		}
	}
	for _, function := range []string{"page_cache_ra_unbounded", "page_cache_ra_order"} {
		begin, err := q.probe(a, "p:"+function+" control=$arg1:x64")
		if err != nil {
			return nil, err
		}
		end, err := q.probe(a, "r:"+function+" sp=$stack0:x64")
		if err != nil {
			return nil, err
		}
		probes.Begins, probes.Ends = append(probes.Begins, begin), append(probes.Ends, end)
	}
	if probes.Adds, err = q.probe(a, "p:filemap_add_folio mapping=$arg1:x64"); err != nil {
		return nil, err
	}
	if probes.Reads, err = q.probe(a, "p:filemap_get_read_batch mapping=$arg1:x64 index=$arg2:u64 last=$arg3:u64"); err != nil {
		return nil, err
	}
	probes.Maps, err = q.probe(a, "p:set_pte_range count=$arg4:u32"+fmt.Sprintf(mappedPage, "$arg3")) // since Linux 6.6
	if err != nil {
		probes.Maps, err = q.probe(a, "p:do_set_pte"+fmt.Sprintf(mappedPage, "$arg2"))
	}
	if err != nil {
		return nil, err
	}
	return readahead.NewByProbes(probes, a.stacks())
}

// probe makes an event of a kernel probe. The whole system's are those of tracefs,
// which threads may inherit.
func (q *readaheadQuestion) probe(a *asking, definition string) (*ftrace.Format, error) {
	spec, err := probe.ParseKernel(definition)
	if err != nil {
		return nil, err
	}
	set, err := probe.Open(spec, probe.Options{Target: perfevent.System(), Logger: a.out.logger(a.verbose)})
	if err != nil {
		return nil, fmt.Errorf("readahead: this kernel has no tracepoints of it (Linux 6.18 and later do), and no probe: %w", err)
	}
	a.closing(set.Close)
	if set.Sources[0].Record != nil {
		return nil, fmt.Errorf("readahead: this kernel has no tracepoints of it (Linux 6.18 and later do), and no probes with arguments (CONFIG_KPROBE_EVENTS)")
	}
	return set.Sources[0].Format, nil
}
