// Package exacttext reads the texts that a thread's pointers point to at the moment of a hit,
// of any length, and knows of each whether it was exact. It needs no BPF.
//
//	caller                                  helper (package near)
//	Start ── which pointers of a record ──→ visitor: at each hit, the texts     visitor.go
//	Take(sample) ←── reader ←── the texts, packed, and the verdict ──┘          packed.go
//
// The hits come twice: by the caller's own events, which carry everything else, and by events
// of this package, at which the texts are read. Take finds the texts of a hit among those that
// were read (match.go). Where near rests, or could not read, it finds none: the caller has
// another way, or counts.
package exacttext
