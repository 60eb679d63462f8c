// Package moment knows what the memory of a sampled thread was at the moment of the sample, read by
// package near while the thread stood still: the calls of Python, PHP, Ruby and Perl.
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
// It also has what lies on the thread's stack behind the sample's copy of it, for stacks that are
// deeper:
//
//	Deepen: a process with such stacks ────→ visitor.Hear: where its stacks may lie         visitor.go
//	                                         sample → read on, hand over what is new        beyond.go
//	At: pages ←── near's reading: pages, or hashes of those that are known                  beyond.go
//	Top: where a stack ends ───────────────→ no more is read of it                          visitor.go
//
// A sample that begins a wait needs no helper. The thread stands still until it is switched to,
// and the session's rings say when:
//
//	run                                     thread of its own, every 2 ms
//	Watch ────────────────────────────────→ look at the rings: who waits?                    waits.go
//	                                        walk those who do                                reads.go
//	Deepen ───────────────────────────────→ read their stacks behind the copies              standing.go
//	At: the calls of a sample ←──────────── look again: exact, if they have not gone on      leisure.go
package moment
