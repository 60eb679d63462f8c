package stdio

import (
	"fmt"
	"math"
	"strconv"
	"strings"
)

// Chains says how the callchains of an entry are shown.
type Chains struct {
	Caller     bool    // from the root to the leaf; otherwise from the leaf
	Fractal    bool    // shares are of the node above; otherwise of the event
	MinPercent float64 // smaller branches are left out
	Value      Value
}

// Value is what is printed at a branch.
type Value int

// The values.
const (
	Percent Value = iota
	Period        // the sum of the periods
	Count         // the number of samples
)

// ParseChains changes c by a list of words, separated by commas, as perf report -g takes it. It
// returns nil for "none", which shows no callchains.
func ParseChains(list string, c Chains) (*Chains, error) {
	for word := range strings.SplitSeq(list, ",") {
		switch word {
		case "none":
			return nil, nil
		case "graph":
			c.Fractal = false
		case "fractal":
			c.Fractal = true
		case "caller":
			c.Caller = true
		case "callee":
			c.Caller = false
		case "function": // perf has others
		case "percent":
			c.Value = Percent
		case "period":
			c.Value = Period
		case "count":
			c.Value = Count
		default:
			percent, err := strconv.ParseFloat(word, 64)
			if err != nil || math.IsNaN(percent) || percent < 0 {
				return nil, fmt.Errorf("%q: ringtap has none, graph, fractal, a least percentage, caller, callee, function, percent, period and count", word)
			}
			c.MinPercent = percent
		}
	}
	return &c, nil
}
