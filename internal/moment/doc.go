// Package moment knows what interpreted code was doing at the moment of a sample: the calls
// of Python, PHP, Ruby and Perl in the sampled thread, read by package near while the thread
// stood still.
//
//	run, its process                        helper: the same program, run once more
//	Watch: a process with an interpreter ──→ visitor.Hear: attach to its runtimes   visitor.go
//	                                         sample → visitor.Visit: walk           visitor.go
//	At: the calls of a sample ←── near's reading: calls and verdict                 moment.go
//
// The samples are those of the run's own session, so that each has at most one reading, of the
// same CPU, thread and time. A reading comes up to a seventh of a second after its sample: At
// waits for it.
//
// A sample that begins a wait needs no helper. The thread stands still until it is switched to,
// and the session's rings say when:
//
//	run                                     goroutine of its own, every 2 ms
//	Watch ────────────────────────────────→ look at the rings: who waits?                    waits.go
//	                                        walk those who do                                reads.go
//	At: the calls of a sample ←──────────── look again: exact, if they have not gone on      leisure.go
package moment
