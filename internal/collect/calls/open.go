package calls

import (
	"errors"
	"fmt"
	"io"
	"strings"

	"github.com/ringtap/ringtap/internal/cli/usage"
	"github.com/ringtap/ringtap/internal/collect"
	"github.com/ringtap/ringtap/internal/collect/table"
	"github.com/ringtap/ringtap/internal/probe"
	"github.com/ringtap/ringtap/internal/profile/histogram"
	"github.com/ringtap/ringtap/internal/text/escape"
	"github.com/ringtap/ringtap/kprobe"
)

// Options says how to watch calls.
type Options struct {
	Exact bool // see probe.Options
	Limit int  // how many places a pattern may match
	Count bool // count only, without times
	Hist  bool // give each row a histogram of the times
}

// Open returns a collector for each spec: one of times if the spec names functions, else one of
// hits. The error is a *usage.Error or one of package probe.
func Open(run *collect.Run, specs []string, o Options) ([]table.Collector, error) {
	var collectors []table.Collector
	for _, spec := range specs {
		made, err := open(run, spec, o)
		var none *kprobe.SymbolError
		if errors.As(err, &none) && !strings.Contains(spec, ":") {
			return nil, fmt.Errorf("%w; name a user function with its file: libc:%s", err, escape.Text(spec))
		}
		if err != nil {
			return nil, err
		}
		collectors = append(collectors, made)
	}
	return collectors, nil
}

// open makes the collector of a spec.
func open(run *collect.Run, text string, o Options) (table.Collector, error) {
	view, err := run.View()
	if err != nil {
		return nil, err
	}
	spec, err := probe.Parse(text, view)
	if err != nil {
		return nil, err
	}
	stacks := run.Stacks()
	options := probe.Options{Target: run.Watched, View: view, Limit: o.Limit, Exact: o.Exact, UserStacks: stacks.User, Logger: run.Logger}
	switch {
	case spec.Kind == 'p' && spec.Whole && spec.Arguments == 0 && !o.Count:
		options.Calls = probe.AllCalls
	case o.Hist:
		return nil, usage.Errorf("--hist: %s cannot be timed: only whole functions can be timed", text)
	}
	set, err := probe.Open(spec, options)
	for _, note := range set.Notes {
		run.Note(note)
	}
	if err != nil {
		return nil, err
	}
	run.Closing(set.Close)
	run.Closing(func() error { return set.SayMissed(run.Stderr) })
	if stacks.Entry = set.AtEntry; !probe.Recur(set.Sources) {
		stacks = stacks.Deep()
	}
	if !set.Timed() {
		if o.Hist {
			return nil, usage.Errorf("--hist: the times of %s are unknown", text)
		}
		return &Hits{Spec: text, Sources: set.Sources, Stacks: stacks}, nil
	}
	timed := NewCalls(text, set.Sources, stacks)
	run.Say(timed.say)
	if o.Hist {
		scale := histogram.Log2()
		timed.Histogram = &scale
	}
	return timed, nil
}

// say writes which calls' times are incomplete.
func (c *Calls) say(w io.Writer) {
	account := c.Account()
	if left := account.Phrases(" is not included", " are not included"); len(left) > 0 {
		fmt.Fprintf(w, "%s: of the times, %s\n", escape.Text(c.Spec), strings.Join(left, "; "))
	}
}
