// Package usertext returns whole texts of user probes. The kernel has one page, 4 KiB, for everything that a hit
// fetches. It cuts texts that do not fit, and fetches nothing of a text that is longer than a page. Texts that fit
// are as reliable as with any other method, even if their memory is not in RAM.
//
//	probe ─ parse (fetch.go): which register, which path ─→ athit.Reader, whose helper starts
//	                                                        at the first text that was cut
//	sample ─ does the record have the whole text? ─ yes ─→ the kernel's record
//	                                              └ no ──→ athit.Reader ─→ extended record (layout.go)
package usertext
