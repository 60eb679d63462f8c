package calls

import (
	"errors"
	"fmt"
	"io"
	"strings"

	"github.com/ringtap/ringtap/internal/escape"
	"github.com/ringtap/ringtap/internal/histogram"
	"github.com/ringtap/ringtap/internal/probe"
	"github.com/ringtap/ringtap/internal/questions"
	"github.com/ringtap/ringtap/internal/table"
	"github.com/ringtap/ringtap/internal/usage"
	"github.com/ringtap/ringtap/kprobe"
)

// Options say how calls are seen.
type Options struct {
	Exact bool // see probe.Options
	Limit int  // the most places that a pattern may stand for
	Count bool // count everything, and time nothing
	Hist  bool // rows have a histogram of the times
}

// Open makes a collector of a run for each spec: of times where it names functions, else of
// hits. The error is a *usage.Error or one of package probe.
func Open(run *questions.Run, specs []string, o Options) ([]table.Collector, error) {
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
func open(run *questions.Run, text string, o Options) (table.Collector, error) {
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

// say says which calls' times are not whole.
func (c *Calls) say(w io.Writer) {
	account := c.Account()
	if left := account.Phrases(" is not included", " are not included"); len(left) > 0 {
		fmt.Fprintf(w, "%s: of the times, %s\n", escape.Text(c.Spec), strings.Join(left, "; "))
	}
}
