package helper

// Certainty says whether a reading's data is what was in memory at the sample.
type Certainty uint8

// The certainties, in rising order.
const (
	None  Certainty = iota // the memory was not read, or only in part
	Near                   // the memory was read soon after the sample, but the thread may have run since
	Exact                  // the thread did not run between the sample and the end of the read
)

// String returns "none", "near" or "exact".
func (c Certainty) String() string {
	return [...]string{"none", "near", "exact"}[c]
}

// Reason says why a reading is not Exact.
type Reason uint8

const (
	NoReason Reason = iota // the reading is Exact

	// Reasons for Near.

	KeptRunning      // no switch away from the thread comes next to the sample and before the read
	RegistersChanged // the thread had other registers when it was switched away from
	Resumed          // the thread ran again before the end of the read
	SwitchesLost     // records of context switches are missing

	// Reasons for None.

	TimedOut    // the visit took longer than Options.VisitTime
	Unreadable  // an address could not be read, or the process had ended
	RealTime    // the thread has a real-time policy, so it was not visited
	CPUOffline  // the child's thread was not on the sample's CPU, because that went offline
	TooMuchData // the visitor wanted to keep more than Options.VisitBytes

	numReasons
)

// String describes the reason in a few words.
func (r Reason) String() string {
	return [...]string{"", "the thread ran on", "its registers changed", "it ran again meanwhile", "switches were lost",
		"the visit took too long", "memory could not be read", "a real-time thread", "the CPU is offline", "too much to keep"}[r]
}
