package value

import (
	"github.com/ringtap/ringtap/internal/bpftrace/types"
	"github.com/ringtap/ringtap/internal/profile/histogram"
)

// A Spec describes a map.
type Spec struct {
	Name  string        // with @
	Keys  []*types.Type // types of the parts of a key; empty for a map without keys
	Value *types.Type   // type of the values; its Kind is the aggregation, if any

	MaxKeys  int   // maximum number of keys, 0 for no limit
	MaxBytes int64 // maximum size in memory, 0 for no limit
	LRU      bool  // at MaxKeys, evict the least recently used key

	Scale    histogram.Scale // of hist and lhist
	Max      int64           // of lhist: its maximum, which Scale rounds down to a whole step
	Interval uint64          // of tseries, nanoseconds
	Count    int             // of tseries: number of intervals to keep
	Series   *types.Type     // of tseries: type of its values, for Signed
	Agg      string          // of tseries: "avg", "max", "min" or "sum"; "" keeps the last value
}

// A Dropped counts what a map's limits kept out.
type Dropped struct {
	Keys    uint64 // how often a new key was not added
	evicted uint64 // keys that an LRU map evicted
}

// The approximate costs of a key in addition to its bytes: its place in Go's map, a string's header
// and rounding, and its cell.
const (
	intKeyBytes  = 24
	textKeyBytes = 48
	cellBytes    = 24
)
