package ftrace

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
)

// Hist is the content of one hist trigger of an event (Documentation/trace/histogram.rst).
type Hist struct {
	Trigger string // in the kernel's form: "hist:keys=lat.log2:vals=hitcount:…"
	Entries []HistEntry
	Hits    uint64 // counted hits of the event
	Dropped uint64 // hits not counted because there was no room for their key
}

// HistEntry is one key of a Hist.
type HistEntry struct {
	Keys   []HistKey
	Values map[string]uint64 // "hitcount" and the other values that the trigger sums up
}

// HistKey is one field of a key.
type HistKey struct {
	Name string
	Text string // "4242", "~ 2^12", "bash [1234]"
}

// Log2 returns n for a key with the modifier .log2, "~ 2^n". The kernel rounds up: such a key
// counts values above 2^(n-1) up to 2^n.
func (k *HistKey) Log2() (n int, ok bool) {
	text, ok := strings.CutPrefix(k.Text, "~ 2^")
	if !ok {
		return 0, false
	}
	n, err := strconv.Atoi(text)
	return n, err == nil && n >= 0 && n <= 64
}

// Hists reads the hist triggers of an event, in this FS or instance. The error wraps
// fs.ErrNotExist if the kernel has no such event, or no hist triggers.
func (t *FS) Hists(system, event string) ([]Hist, error) {
	text, err := os.ReadFile(filepath.Join(t.dir, "events", system, event, "hist"))
	if err != nil {
		return nil, fmt.Errorf("read a histogram of the kernel: %w", err)
	}
	return ParseHists(string(text))
}

// ParseHists parses an event's file "hist", which has the histograms of all its triggers.
// Unknown lines are ignored.
func ParseHists(text string) ([]Hist, error) {
	const info = "# trigger info: "
	var hists []Hist
	for line := range strings.Lines(text) {
		line = strings.TrimSpace(line)
		trigger, isInfo := strings.CutPrefix(line, info)
		switch {
		case isInfo:
			hists = append(hists, Hist{Trigger: strings.TrimSuffix(trigger, " [active]")})
			continue
		case len(hists) == 0:
			continue
		}
		h := &hists[len(hists)-1]
		var err error
		switch {
		case strings.HasPrefix(line, "{"):
			var entry HistEntry
			if entry, err = parseHistEntry(line); err == nil {
				h.Entries = append(h.Entries, entry)
			}
		case strings.HasPrefix(line, "Hits:"):
			h.Hits, err = strconv.ParseUint(strings.TrimSpace(line[len("Hits:"):]), 10, 64)
		case strings.HasPrefix(line, "Dropped:"):
			h.Dropped, err = strconv.ParseUint(strings.TrimSpace(line[len("Dropped:"):]), 10, 64)
		}
		if err != nil {
			return nil, fmt.Errorf("line %q of a histogram: %w", line, err)
		}
	}
	return hists, nil
}

var errHistEntry = errors.New("not { KEY: VALUE, … } NAME: NUMBER …")

// parseHistEntry parses "{ name: text, name: text } hitcount: 3  lat: 42". The text of a key
// may contain any character that a task's name may contain.
func parseHistEntry(line string) (HistEntry, error) {
	end := strings.LastIndexByte(line, '}')
	if end < 0 {
		return HistEntry{}, errHistEntry
	}
	entry := HistEntry{Values: make(map[string]uint64)}
	for key := range strings.SplitSeq(line[1:end], ", ") {
		name, text, ok := strings.Cut(key, ":")
		if !ok {
			return HistEntry{}, errHistEntry
		}
		entry.Keys = append(entry.Keys, HistKey{strings.TrimSpace(name), strings.TrimSpace(text)})
	}
	words := strings.Fields(line[end+1:])
	if len(words)%2 != 0 {
		return HistEntry{}, errHistEntry
	}
	for i := 0; i < len(words); i += 2 {
		name, ok := strings.CutSuffix(words[i], ":")
		n, err := strconv.ParseUint(words[i+1], 10, 64)
		if !ok || err != nil {
			return HistEntry{}, errHistEntry
		}
		entry.Values[name] = n
	}
	return entry, nil
}
