package value

import "github.com/ringtap/ringtap/internal/script/types"

// A Spec says what a map is.
type Spec struct {
	Name  string        // with @
	Keys  []*types.Type // the parts of a key; none for a map without keys
	Value *types.Type   // with the kind of the aggregation, if it is one

	MaxKeys  int   // 0 for no bound on the number of keys
	MaxBytes int64 // 0 for no bound on the memory of the map
	LRU      bool  // when MaxKeys is reached, the key that was used least recently goes

	Bits     int         // of hist: the sub-buckets of a power of two are 2^Bits; 0 to 5
	Min, Max int64       // of lhist
	Step     int64       // of lhist
	Interval uint64      // of tseries, nanoseconds
	Count    int         // of tseries: how many intervals it keeps
	Series   *types.Type // of tseries: the type of its values; Signed matters
	Agg      string      // of tseries: "avg", "max", "min", "sum"; "" keeps the last value
}

// A Dropped says what the bounds of a map kept out.
type Dropped struct {
	Keys    uint64 // times a new key was not put in
	Evicted uint64 // keys that an LRU map let go
}

// What a key costs besides its bytes, roughly: its place in Go's map, the header and the
// rounding of a string, and its cell.
const (
	intKeyBytes  = 24
	textKeyBytes = 48
	cellBytes    = 24
)
