package perfevent

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"strconv"
	"strings"

	perf "github.com/elastic/go-perf"
)

// Dynamic returns an event of a PMU that the kernel announces under
// /sys/bus/event_source/devices. Each term is either the name of one of the
// PMU's own events ("cache-misses"), or a field of its format with a value
// ("event=0x3c"), or a field alone, which stands for the value 1. A later term
// overrides an earlier one.
//
// The error says whether the PMU, the event or the field is unknown, and lists the known ones.
// It is ErrNoEvent if the kernel does not have the PMU.
func Dynamic(pmu string, terms ...string) (Event, error) {
	return dynamic(os.DirFS("/sys/bus/event_source/devices"), pmu, terms)
}

// dynamic is Dynamic on a file tree shaped like the sysfs directory
// (Documentation/ABI/testing/sysfs-bus-event_source-devices-*).
func dynamic(devices fs.FS, pmu string, terms []string) (Event, error) {
	if !fs.ValidPath(pmu) || strings.Contains(pmu, "/") {
		return Event{}, fmt.Errorf("event of PMU %q: not a PMU's name", pmu)
	}
	dir, err := fs.Sub(devices, pmu)
	if err != nil {
		return Event{}, fmt.Errorf("event of PMU %s: %w", pmu, err)
	}
	text, err := fs.ReadFile(dir, "type")
	if errors.Is(err, fs.ErrNotExist) {
		return Event{}, fmt.Errorf("event of PMU %s: %w: this kernel has %s", pmu, ErrNoEvent, list(devices, "."))
	}
	if err != nil {
		return Event{}, fmt.Errorf("event of PMU %s: %w", pmu, err)
	}
	kind, err := strconv.ParseUint(strings.TrimSpace(string(text)), 10, 32)
	if err != nil {
		return Event{}, fmt.Errorf("event of PMU %s: read its type: %w", pmu, err)
	}
	attr := perf.Attr{
		Type:  perf.EventType(kind),
		Label: pmu + "/" + strings.Join(terms, ",") + "/",
	}
	for _, term := range terms {
		if err := applyTerm(dir, &attr, term, true); err != nil {
			return Event{}, fmt.Errorf("event %s: %w", attr.Label, err)
		}
	}
	return Event{attr: attr}, nil
}

// applyTerm writes one term into the configuration words. A named event stands
// for the terms in its file, which are fields only.
func applyTerm(pmu fs.FS, attr *perf.Attr, term string, named bool) error {
	name, text, hasValue := strings.Cut(strings.TrimSpace(term), "=")
	if !fs.ValidPath(name) || strings.Contains(name, "/") {
		return fmt.Errorf("term %q: not a name", term)
	}
	value := uint64(1)
	if hasValue {
		var err error
		if value, err = strconv.ParseUint(text, 0, 64); err != nil {
			return fmt.Errorf("term %q: %w", term, err)
		}
	}
	if named && !hasValue {
		if terms, err := fs.ReadFile(pmu, "events/"+name); err == nil {
			for _, t := range strings.Split(strings.TrimSpace(string(terms)), ",") {
				if err := applyTerm(pmu, attr, t, false); err != nil {
					return fmt.Errorf("event %s: %w", name, err)
				}
			}
			return nil
		}
	}
	format, err := fs.ReadFile(pmu, "format/"+name)
	if errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("term %q: the PMU's events are %s, its fields %s", term, list(pmu, "events"), list(pmu, "format"))
	}
	if err != nil {
		return fmt.Errorf("term %q: %w", term, err)
	}
	if err := setField(attr, strings.TrimSpace(string(format)), value); err != nil {
		return fmt.Errorf("term %q: %w", term, err)
	}
	return nil
}

// setField spreads value over the bits of a format such as "config:0-7,32-35",
// lowest bits first.
func setField(attr *perf.Attr, format string, value uint64) error {
	word, ranges, ok := strings.Cut(format, ":")
	if !ok {
		return fmt.Errorf("field format %q has no bits", format)
	}
	var config *uint64
	switch word {
	case "config":
		config = &attr.Config
	case "config1":
		config = &attr.Config1
	case "config2":
		config = &attr.Config2
	default:
		return fmt.Errorf("field format %q: the word %s cannot be set", format, word)
	}
	rest := value
	for _, r := range strings.Split(ranges, ",") {
		from, to, isRange := strings.Cut(r, "-")
		if !isRange {
			to = from
		}
		low, errLow := strconv.ParseUint(from, 10, 6)
		high, errHigh := strconv.ParseUint(to, 10, 6)
		if errLow != nil || errHigh != nil || high < low {
			return fmt.Errorf("field format %q: bad bits %q", format, r)
		}
		width := high - low + 1
		mask := ^uint64(0) >> (64 - width)
		*config = *config&^(mask<<low) | rest&mask<<low
		if width == 64 {
			rest = 0
		} else {
			rest >>= width
		}
	}
	if rest != 0 {
		return fmt.Errorf("value %#x does not fit the field %s", value, format)
	}
	return nil
}

// list names the entries of a directory, for error messages.
func list(tree fs.FS, dir string) string {
	entries, err := fs.ReadDir(tree, dir)
	if err != nil || len(entries) == 0 {
		return "none"
	}
	names := make([]string, len(entries))
	for i, e := range entries {
		names[i] = e.Name()
	}
	return strings.Join(names, ", ")
}
