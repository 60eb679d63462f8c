package main

import (
	"maps"

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
}

func (s *stdioFlags) add(flags *pflag.FlagSet) {
	flags.BoolVar(&s.on, "stdio", false, "print the table of perf report --stdio")
	flags.StringVarP(&s.keys, "sort", "s", stdio.DefaultKeys, "with --stdio: tell rows apart by `KEYS`: comm, dso, sym, pid, cpu")
	flags.BoolVar(&s.noChildren, "no-children", false, "with --stdio: count a sample in its own function only")
	flags.StringVarP(&s.graph, "call-graph", "g", "", "with --stdio: `FORM` of the callchains: none")
	manual.SetGroup(flags, perfGroup)
}

// options returns how the recording is shown; nil without --stdio.
func (s *stdioFlags) options(flags *pflag.FlagSet) (*stdio.Options, error) {
	if !s.on {
		for _, name := range []string{"sort", "no-children", "call-graph"} {
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
	if !s.noChildren || s.graph != "none" {
		return nil, usagef("--stdio prints neither children nor callchains: give --no-children -g none too")
	}
	return &stdio.Options{Keys: keys}, nil
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

// completeOptions adds what is known after the run.
func completeOptions(o *stdio.Options, events []*recorded.Collector, source *recording.Source) {
	o.Lost, o.Threads = source.LostSamples(), make(map[uint32]string)
	for _, c := range events {
		maps.Copy(o.Threads, c.Threads)
	}
}
