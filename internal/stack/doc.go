// Package stack makes the stacks of samples for all sinks: tables, lines and histograms.
//
//	Stacks.Prepare ─ what each sample carries
//	sample ─ Stacker (unwinds) ─ Store (keeps each distinct stack once) ─ Set → symbolize
//
// If a stack has been seen before, byte for byte, it is not unwound again (memo): a probe may be
// hit a million times a second.
package stack
