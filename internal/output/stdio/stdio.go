package stdio

import (
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/ringtap/ringtap/internal/output"
	"github.com/ringtap/ringtap/internal/profile"
	"github.com/ringtap/ringtap/internal/text/escape"
)

// Options says what is shown.
type Options struct {
	Keys []Key // of the entries, in the order of their columns
	// Children counts a sample also for the callers of its function.
	Children bool
	Chains   *Chains // nil: callchains are not shown
	Samples  bool    // print the number of samples, too
	// Separator, unless it is "", separates the columns, for programs.
	Separator  string
	MinPercent float64 // entries with less are left out
	// Threads has the names of threads, for the key Thread.
	Threads map[uint32]string
	Lost    uint64 // samples that the kernel counted as lost
}

// Labels returns the keys that rows must have labels of: the leaf of each row's stack is a label for
// each of them, in this order.
func (o *Options) Labels() []Key {
	return slices.DeleteFunc(slices.Clone(o.Keys), func(k Key) bool { return !k.IsLabel() })
}

// Write writes the table of each event that has samples. p has two metrics per event: the sum of the periods, and
// the number of samples.
func Write(w io.Writer, p *profile.Profile, o Options) error {
	if err := output.Check(p); err != nil {
		return err
	}
	var b strings.Builder
	fmt.Fprintf(&b, "# To display the perf.data header info, please use perf report --header-only.\n#\n#\n# Total Lost Samples: %d\n#\n", o.Lost)
	f := newFunctions(p)
	for period := 0; period+1 < len(p.Metrics); period += 2 {
		if t := newTable(p, f, period, &o); t.samples > 0 {
			t.write(&b)
		}
		if _, err := io.WriteString(w, b.String()); err != nil {
			return err
		}
		b.Reset()
	}
	return nil
}

// write writes a table.
func (t *table) write(b *strings.Builder) {
	n, unit := shortened(t.samples)
	fmt.Fprintf(b, "# Samples: %d%c of event '%s'\n# Event count (approx.): %d\n#\n", n, unit, escape.Text(t.profile.Metrics[t.period].Name), t.total)
	columns := t.columns()
	t.writeHeadings(b, columns)
	g := graph{opts: t.opts.Chains, functions: t.functions.all, total: t.total, skipFirst: t.opts.Keys[0] == Symbol, out: b}
	for _, e := range t.entries {
		if float32(percentOf(t.ranked(e), t.total)) < float32(t.opts.MinPercent) {
			continue
		}
		t.writeEntry(b, columns, e)
		if len(e.chains) > 0 {
			g.write(e.chains, t.ranked(e))
		}
	}
	b.WriteString("\n\n")
}

// shortened returns a number in units of thousands, as perf does: 1,000 is not shortened.
func shortened(n uint64) (short uint64, unit rune) {
	unit = ' '
	for _, next := range "KMG" {
		if n > 1000 {
			n, unit = n/1000, next
		}
	}
	return n, unit
}
