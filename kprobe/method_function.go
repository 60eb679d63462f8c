package kprobe

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strconv"
	"strings"

	"github.com/ringtap/ringtap/ftrace"
	"github.com/ringtap/ringtap/internal/host/proc"
	"github.com/ringtap/ringtap/internal/text/match"
	"github.com/ringtap/ringtap/perfevent"
)

var (
	errEntries    = errors.New("it only traces function entries")
	errUserStacks = errors.New("it has no user stacks")
)

// notFunction returns an error if the function tracer cannot do what is asked.
func (p *Plan) notFunction(o *AttachOptions) error {
	switch {
	case p.fetches():
		return errFetches
	case o.Filter != "":
		return errFilters
	case p.returns(), slices.ContainsFunc(p.Sites, func(s Site) bool { return s.Offset > 0 || s.Function.Name == "" }):
		return errEntries
	case o.UserStacks:
		return errUserStacks
	}
	return nil
}

// attachFunction makes one event for all sites. It is no fast way to trace a thousand
// functions: see perfevent.FunctionEntry.
func attachFunction(p *Plan, o *AttachOptions) (*Attachment, error) {
	if err := p.notFunction(o); err != nil {
		return nil, err
	}
	tracefs := o.Tracefs
	if tracefs == nil {
		var err error
		if tracefs, _, err = ftrace.Mount(); err != nil {
			return nil, err
		}
	}
	id, err := tracefs.EventID("ftrace", "function")
	if errors.Is(err, fs.ErrNotExist) {
		return nil, errors.New("it was built without CONFIG_FUNCTION_TRACER")
	}
	if err != nil {
		return nil, err
	}
	if on, err := proc.Live.Sysctl("kernel/ftrace_enabled"); err == nil && on == "0" {
		return nil, errors.New("the function tracer is turned off: sysctl kernel.ftrace_enabled=1")
	}
	list, err := os.ReadFile(filepath.Join(tracefs.Dir(), "available_filter_functions"))
	if err != nil {
		return nil, fmt.Errorf("refused: %w", rootCause(err))
	}
	filter, err := functionFilter(p, list)
	if err != nil {
		return nil, err
	}
	return &Attachment{
		Events:  []perfevent.Event{perfevent.FunctionEntry(id)},
		Formats: []*ftrace.Format{ftrace.UprobeFormat("kprobes", p.Sites[0].Event, false)},
		Filter:  filter,
		Raw:     rawFunction(p, runtime.GOARCH),
		merged:  len(p.Sites) > 1,
	}, nil
}

// rootCause strips the path from an error.
func rootCause(err error) error {
	var path *fs.PathError
	if errors.As(err, &path) {
		return path.Err
	}
	return err
}

// Limits of kernel/trace/trace_events_filter.c (MAX_FILTER_STR_VAL) and of perf's ioctl.
const (
	maxPattern = 255
	maxFilter  = 4095
)

// functionFilter returns a filter that matches exactly the plan's functions. It uses the
// definition's pattern if that matches no others, else the functions' positions in the file
// available_filter_functions.
func functionFilter(p *Plan, list []byte) (string, error) {
	type key struct{ name, module string }
	wanted := make(map[key]bool, len(p.Sites))
	for i := range p.Sites {
		f := p.Sites[i].Function
		wanted[key{f.Name, f.Module}] = true
	}
	pattern, err := match.ParseGlob(p.Definition.Symbol)
	if err != nil {
		return "", err
	}
	fits := p.Definition.Module == "" && kernelPattern(p.Definition.Symbol)
	found := make(map[key]bool, len(wanted))
	var numbers []string
	for number := 1; len(list) > 0; number++ {
		line, rest, _ := bytes.Cut(list, []byte("\n"))
		list = rest
		name, module, _ := bytes.Cut(line, []byte(" "))
		k := key{string(name), string(bytes.Trim(module, "[] "))}
		switch {
		case wanted[k] && !found[k]:
			found[k] = true
			numbers = append(numbers, strconv.Itoa(number))
			fits = fits && pattern.MatchBytes(name)
		case fits && pattern.MatchBytes(name):
			fits = false // it would also trace functions that are not in the plan
		}
	}
	for i := range p.Sites {
		if f := p.Sites[i].Function; !found[key{f.Name, f.Module}] {
			return "", fmt.Errorf("%s is not among the functions that it can trace (available_filter_functions)", f.Name)
		}
	}
	if fits {
		return "ip == " + p.Definition.Symbol, nil
	}
	filter := joinPatterns(numbers)
	if len(filter) > maxFilter {
		return "", fmt.Errorf("the names of %d functions don't fit in its filter of %d characters", len(p.Sites), maxFilter)
	}
	return filter, nil
}

// joinPatterns builds a filter from patterns. All kernels accept this form; some reject quotes
// around a pattern (6.1 returns EPERM).
func joinPatterns(patterns []string) string {
	var out strings.Builder
	used := maxPattern
	for _, p := range patterns {
		switch {
		case used+1+len(p) <= maxPattern:
			out.WriteString("," + p)
			used += 1 + len(p)
			continue
		case out.Len() > 0:
			out.WriteString("||")
		}
		out.WriteString("ip == " + p)
		used = len(p)
	}
	return out.String()
}

// kernelPattern reports whether ftrace interprets a pattern as package kprobe does.
func kernelPattern(pattern string) bool {
	return len(pattern) <= maxPattern && pattern != "" && (pattern[0] < '0' || pattern[0] > '9') &&
		!strings.ContainsFunc(pattern, func(r rune) bool {
			return r != '*' && r != '?' && r != '_' && r != '.' && (r < '0' || r > '9') && (r < 'a' || r > 'z') && (r < 'A' || r > 'Z')
		})
}
