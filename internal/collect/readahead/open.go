package readahead

import (
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"slices"

	"github.com/ringtap/ringtap/ftrace"
	"github.com/ringtap/ringtap/internal/collect"
	"github.com/ringtap/ringtap/internal/collect/table"
	"github.com/ringtap/ringtap/internal/probe"
	"github.com/ringtap/ringtap/internal/stack"
	"github.com/ringtap/ringtap/perfevent"
)

// Open returns the collector of a run that starts now.
func Open(run *collect.Run) ([]table.Collector, error) {
	tracefs, _, err := ftrace.Mount()
	if err != nil {
		return nil, err
	}
	collector, err := open(tracefs, run.Stacks(), run.Logger)
	if err != nil {
		return nil, err
	}
	run.Closing(collector.Close)
	return []table.Collector{collector}, nil
}

// open makes a collector that uses the kernel's tracepoints, or kernel probes if one of them is
// missing. The caller closes it after the perf session that uses its events.
func open(tracefs *ftrace.FS, stacks stack.Stacks, logger *slog.Logger) (*Collector, error) {
	formats, err := readFormats(tracefs)
	if err == nil {
		return New(formats, stacks)
	}
	if !errors.Is(err, fs.ErrNotExist) {
		return nil, err
	}
	logger.Info("readahead by kernel probes", "why", err)
	p := prober{logger: logger}
	c, err := p.open(tracefs, stacks)
	if err != nil {
		return nil, errors.Join(err, p.close())
	}
	c.close = p.close
	return c, nil
}

// Close removes the collector's probes.
func (c *Collector) Close() error {
	if c.close == nil {
		return nil
	}
	return c.close()
}

// readFormats reads the tracepoints' formats. The error is fs.ErrNotExist if the kernel lacks one
// of them.
func readFormats(tracefs *ftrace.FS) (formats Formats, err error) {
	for _, want := range []struct {
		system, event string
		into          **ftrace.Format
	}{
		{"readahead", "page_cache_ra_unbounded", &formats.unbounded},
		{"readahead", "page_cache_ra_order", &formats.order},
		{"filemap", "mm_filemap_add_to_page_cache", &formats.added},
		{"filemap", "mm_filemap_delete_from_page_cache", &formats.deleted},
		{"filemap", "mm_filemap_get_pages", &formats.got},
		{"filemap", "mm_filemap_map_pages", &formats.mapped},
		{"filemap", "mm_filemap_fault", &formats.faulted},
	} {
		if *want.into, err = tracefs.Format(want.system, want.event); err != nil {
			return formats, err
		}
	}
	return formats, nil
}

// prober creates the kernel probes of a collector.
type prober struct {
	logger *slog.Logger
	sets   []*probe.Set
}

func (p *prober) close() error {
	var errs []error
	for _, set := range slices.Backward(p.sets) {
		errs = append(errs, set.Close())
	}
	return errors.Join(errs...)
}

// mappedPage fetches a page's file and index from struct page (include/linux/mm_types.h). The
// offsets are the same on all 64-bit kernels whose folios are made of struct pages.
const mappedPage = " mapping=+24(%[1]s):x64 index=+32(%[1]s):u64"

// open makes the collector on kernels without the tracepoints, Linux 5.18 to 6.17.
func (p *prober) open(tracefs *ftrace.FS, stacks stack.Stacks) (*Collector, error) {
	var probes probes
	var err error
	if probes.added, err = tracefs.Format("filemap", "mm_filemap_add_to_page_cache"); err != nil {
		return nil, err
	}
	if probes.deleted, err = tracefs.Format("filemap", "mm_filemap_delete_from_page_cache"); err != nil {
		return nil, err
	}
	for _, function := range []string{"page_cache_ra_unbounded", "page_cache_ra_order"} {
		begin, err := p.probe("p:" + function + " control=$arg1:x64")
		if err != nil {
			return nil, err
		}
		end, err := p.probe("r:" + function + " sp=$stack0:x64")
		if err != nil {
			return nil, err
		}
		probes.begins, probes.ends = append(probes.begins, begin), append(probes.ends, end)
	}
	if probes.adds, err = p.probe("p:filemap_add_folio mapping=$arg1:x64"); err != nil {
		return nil, err
	}
	if probes.reads, err = p.probe("p:filemap_get_read_batch mapping=$arg1:x64 index=$arg2:u64 last=$arg3:u64"); err != nil {
		return nil, err
	}
	probes.maps, err = p.probe("p:set_pte_range count=$arg4:u32" + fmt.Sprintf(mappedPage, "$arg3")) // since Linux 6.6
	if err != nil {
		probes.maps, err = p.probe("p:do_set_pte" + fmt.Sprintf(mappedPage, "$arg2"))
	}
	if err != nil {
		return nil, err
	}
	return newByProbes(probes, stacks)
}

// probe creates the event of a kernel probe. The definition has arguments, which makes it a tracefs
// event. Threads can inherit such events.
func (p *prober) probe(definition string) (*ftrace.Format, error) {
	const none = "readahead: this kernel has no tracepoints of it (Linux 6.18 and later do), and no probe"
	spec, err := probe.ParseKernel(definition)
	if err != nil {
		return nil, err
	}
	set, err := probe.Open(spec, probe.Options{Target: perfevent.System(), Logger: p.logger})
	if err != nil {
		return nil, fmt.Errorf("%s: %w", none, err)
	}
	p.sets = append(p.sets, set)
	if set.Sources[0].Record != nil {
		return nil, errors.New(none + "s with arguments (CONFIG_KPROBE_EVENTS)")
	}
	return set.Sources[0].Format, nil
}
