// Package usertext has the texts that user probes fetch be whole. The kernel has a page, 4 KiB,
// for all that a hit fetches: it cuts the texts that do not fit, and fetches nothing of a longer
// one. Up to there it is as good as anything else, also where a page is not in memory.
//
//	Args → parse (which register, which path) ─→ exacttext, from the first text on that was cut
//	sample → cut? ──no──→ the kernel's record
//	          └──yes──→ exacttext.Take → the record, with the whole text in the place of it
package usertext
