// Package stack makes the stacks of samples for every sink: tables, lines and
// histograms.
//
//	Stacks.Prepare ─ what each sample carries
//	sample ─ Stacker (unwinds) ─ Store (keeps each distinct stack once) ─ Set → symbolize
//
// A sample whose stack has been seen before, byte for byte, is not unwound again
// (memo): a probe may be hit a million times a second.
package stack
