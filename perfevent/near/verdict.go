package near

import "time"

// Kind is how sure a reading is.
type Kind uint8

// The kinds of verdicts.
const (
	None  Kind = iota // nothing was read, or not all
	Near              // read soon after the sample, while the thread may have run on
	Exact             // the thread did not run between the sample and the end of the read
)

// String returns "none", "near" or "exact".
func (k Kind) String() string {
	return [...]string{"none", "near", "exact"}[k]
}

// Reason says why a reading is not Exact.
type Reason uint8

// The reasons. The first group comes with Near, the second with None.
const (
	NoReason    Reason = iota
	RanOn              // no switch away from the thread is next to the sample
	Changed            // the thread was switched away from with other registers
	Resumed            // the thread began to run again before the read had ended
	Unwitnessed        // records of switches were lost

	TimeUp   // the visit took longer than Options.VisitTime
	NoMemory // an address was not readable, or the process had ended
	RealTime // the thread is a real-time one, which is left alone
	Moved    // the reader's thread is not on the sample's CPU, which went offline
	Full     // the visitor wanted to keep more than Options.VisitBytes

	reasons
)

// String says it in words.
func (r Reason) String() string {
	return [...]string{"", "the thread ran on", "its registers changed", "it ran again meanwhile", "switches were lost",
		"the visit took too long", "memory could not be read", "a real-time thread", "the CPU is offline", "too much to keep"}[r]
}

// Verdict is what the witness says of a reading.
type Verdict struct {
	Kind   Kind
	Reason Reason        // unless Exact
	Late   time.Duration // from the sample to the end of the read
}
