package main

import (
	"errors"
	"fmt"
	"io/fs"
	"slices"
	"strconv"
	"strings"

	"github.com/ringtap/ringtap/internal/record"
	"github.com/ringtap/ringtap/perfevent"
)

// eventsFlag is the value of --event: lists of events, each with the filter that follows it.
type eventsFlag struct{ lists []eventList }

type eventList struct{ text, filter string }

func (e *eventsFlag) Set(text string) error {
	e.lists = append(e.lists, eventList{text: text})
	return nil
}

func (e *eventsFlag) String() string {
	var texts []string
	for _, list := range e.lists {
		texts = append(texts, list.text)
	}
	return strings.Join(texts, ",")
}

func (e *eventsFlag) Type() string { return "string" }

// parse returns the events. open opens tracepoints and probes.
func (e *eventsFlag) parse(open record.Open) ([]record.Event, error) {
	if len(e.lists) == 0 {
		name := "cycles"
		if !perfevent.Available(perfevent.CPUCycles()) {
			name = "cpu-clock"
		}
		return record.ParseEvents(name, open)
	}
	var all []record.Event
	for _, list := range e.lists {
		events, err := record.ParseEvents(list.text, open)
		if errors.Is(err, fs.ErrPermission) {
			return nil, err
		}
		if err != nil {
			return nil, usagef("-e %w", err)
		}
		for i := range events {
			if list.filter != "" && !events[i].HasFields() {
				return nil, usagef("--filter %q: %s is neither a tracepoint nor a probe", list.filter, events[i].Name)
			}
			events[i].Filter = list.filter
		}
		all = append(all, events...)
	}
	return all, nil
}

// filterFlag is the value of --filter.
type filterFlag struct{ events *eventsFlag }

func (f filterFlag) Set(text string) error {
	lists := f.events.lists
	if len(lists) == 0 {
		return errors.New("it follows the --event whose hits it selects")
	}
	lists[len(lists)-1].filter = text
	return nil
}

func (f filterFlag) String() string {
	if f.events == nil {
		return ""
	}
	for _, list := range slices.Backward(f.events.lists) { // the last ones may have none
		if list.filter != "" {
			return list.filter
		}
	}
	return ""
}

func (f filterFlag) Type() string { return "string" }

// sizeFlag is a number of bytes: 100M.
type sizeFlag int64

func (s *sizeFlag) Set(text string) error {
	number, unit := text, int64(1)
	if i := strings.IndexAny(text, "BKMGkmg"); i >= 0 && i == len(text)-1 {
		number = text[:i]
		unit = map[byte]int64{'B': 1, 'K': 1 << 10, 'M': 1 << 20, 'G': 1 << 30}[strings.ToUpper(text[i:])[0]]
	}
	n, err := strconv.ParseInt(number, 10, 64)
	if err != nil || n < 1 || n > (1<<62)/unit {
		return errors.New("want a number of bytes, such as 100M")
	}
	*s = sizeFlag(n * unit)
	return nil
}

func (s *sizeFlag) String() string {
	switch n := int64(*s); {
	case n == 0:
		return ""
	case n%(1<<30) == 0:
		return fmt.Sprintf("%dG", n>>30)
	case n%(1<<20) == 0:
		return fmt.Sprintf("%dM", n>>20)
	case n%(1<<10) == 0:
		return fmt.Sprintf("%dK", n>>10)
	}
	return strconv.FormatInt(int64(*s), 10)
}

func (s *sizeFlag) Type() string { return "size" }
