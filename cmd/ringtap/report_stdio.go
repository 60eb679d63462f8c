package main

import (
	"cmp"
	"maps"
	"slices"

	"github.com/spf13/pflag"

	"github.com/ringtap/ringtap/internal/cli/manual"
	"github.com/ringtap/ringtap/internal/collect/recorded"
	"github.com/ringtap/ringtap/internal/engine/recording"
	"github.com/ringtap/ringtap/internal/output/stdio"
)

// stdioFlags are the flags of ringtap report that show a recording as perf report does.
type stdioFlags struct {
	on         bool
	keys       string
	noChildren bool
	graph      string
	samples    bool
	separator  string
	minPercent float64
}

func (s *stdioFlags) add(flags *pflag.FlagSet) {
	flags.BoolVar(&s.on, "stdio", false, "print the table of perf report --stdio")
	manual.SetGroup(flags, outputGroup)
	flags.StringVarP(&s.keys, "sort", "s", stdio.DefaultKeys, "one row for each `KEYS`, of comm, dso, sym, pid, cpu")
	flags.BoolVar(&s.noChildren, "no-children", false, "count a sample only in its own function")
	flags.StringVarP(&s.graph, "graph", "g", "", "show callchains in a `FORM`: graph,0.5,caller or none")
	flags.BoolVarP(&s.samples, "show-nr-samples", "n", false, "print the number of samples, too")
	flags.StringVar(&s.separator, "field-separator", "", "separate columns by `TEXT`")
	flags.Float64Var(&s.minPercent, "percent-limit", 0, "leave out rows and callchains below `PERCENT`")
	manual.SetGroup(flags, perfGroup)
}

// options returns how the recording is shown; nil without --stdio.
func (s *stdioFlags) options(flags *pflag.FlagSet) (*stdio.Options, error) {
	if !s.on {
		for _, name := range []string{"sort", "no-children", "graph", "show-nr-samples", "field-separator", "percent-limit"} {
			if flags.Changed(name) {
				return nil, usagef("--%s changes the table of --stdio: give that too", name)
			}
		}
		return nil, nil
	}
	for _, name := range []string{"out", "top", "metric", "tables", "inlines"} {
		if flags.Changed(name) {
			return nil, usagef("--%s changes ringtap's own report: --stdio does not have it", name)
		}
	}
	keys, err := stdio.ParseKeys(s.keys)
	if err != nil {
		return nil, usagef("--sort: %w", err)
	}
	if !(s.minPercent >= 0) {
		return nil, usagef("--percent-limit %v: at least 0", s.minPercent)
	}
	if s.separator == "." {
		return nil, usagef("--field-separator .: numbers have points; take another one")
	}
	o := &stdio.Options{Keys: keys, Children: !s.noChildren, Samples: s.samples, Separator: s.separator, MinPercent: s.minPercent}
	chains := stdio.Chains{Caller: o.Children, MinPercent: 0.5}
	if flags.Changed("percent-limit") {
		chains.MinPercent = s.minPercent
	}
	o.Chains, err = stdio.ParseChains(cmp.Or(s.graph, "graph"), chains)
	if err != nil {
		return nil, usagef("-g: %w", err)
	}
	return o, nil
}

// labels returns the labels that the rows of a recording need.
func labels(o *stdio.Options) (all []recorded.Label) {
	for _, key := range o.Labels() {
		switch key {
		case stdio.Comm:
			all = append(all, recorded.Comm)
		case stdio.Thread:
			all = append(all, recorded.Thread)
		case stdio.CPU:
			all = append(all, recorded.CPU)
		}
	}
	return all
}

// completeOptions adds what is known after the run. Without callchains in the recording, there are
// no children.
func completeOptions(o *stdio.Options, events []*recorded.Collector, source *recording.Source) {
	o.Lost, o.Threads = source.LostSamples(), make(map[uint32]string)
	if !slices.ContainsFunc(events, (*recorded.Collector).HasCallchains) {
		o.Children, o.Chains = false, nil
	}
	for _, c := range events {
		maps.Copy(o.Threads, c.Threads)
	}
}
