package stdio

import (
	"fmt"
	"slices"
	"strings"
)

// Key is what rows are told apart by: a sort key of perf report.
type Key string

// The sort keys.
const (
	Comm   Key = "comm" // the thread's name at the time of the sample
	DSO    Key = "dso"  // the name of the file, without its directory
	Symbol Key = "sym"  // the function, and its object if DSO is no key
	Thread Key = "pid"  // perf's word for the number of the thread, shown with the thread's latest name
	CPU    Key = "cpu"
)

// heading returns the heading of the key's column.
func (k Key) heading() string {
	switch k {
	case Comm:
		return "Command"
	case DSO:
		return "Shared Object"
	case Symbol:
		return "Symbol"
	case Thread:
		return "    Pid:Command"
	}
	return "CPU"
}

// IsLabel reports whether the rows of a profile must have a label for the key.
func (k Key) IsLabel() bool { return k == Comm || k == Thread || k == CPU }

// DefaultKeys are perf's.
const DefaultKeys = "comm,dso,sym"

// ParseKeys parses a list of keys, separated by commas.
func ParseKeys(list string) ([]Key, error) {
	var keys []Key
	for word := range strings.SplitSeq(list, ",") {
		key := Key(word)
		switch word {
		case "symbol":
			key = Symbol
		case "tid":
			return nil, fmt.Errorf(`no sort key "tid": as in perf, "pid" is the number of the thread`)
		}
		if !slices.Contains([]Key{Comm, DSO, Symbol, Thread, CPU}, key) {
			return nil, fmt.Errorf("no sort key %q: ringtap has comm, dso, sym, pid and cpu", word)
		}
		if !slices.Contains(keys, key) {
			keys = append(keys, key)
		}
	}
	return keys, nil
}
