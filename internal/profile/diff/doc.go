// Package diff compares two profiles of the same kind of work, such as a program before and after a
// change. It merges their rows, so that internal/output can rank functions and draw stacks of both,
// and says how far the share of a function may differ by chance alone.
//
// # Shares
//
// Two profiles rarely cover the same time, so their totals say little. Shares of the total can be
// compared, even of different metrics. If a function becomes faster, the shares of all others grow.
//
// # Margin
//
// A share comes from samples. If k of n samples are in a function, another run of the same program
// has a different k. Change returns the difference of two shares with a margin: the true difference
// is within the margin in at least 95 % of such comparisons. It is Newcombe's hybrid score interval
// (Statistics in Medicine 17, 1998, method 10), made symmetric by taking its longer side.
//
// The margin is computed instead of resampled, because resampling is wrong where it matters most. A
// function without samples in one profile has none in any resample either, so its share would seem
// to be exactly 0, and every new function a change. With many samples, both give the same margin.
// Tests simulate how often the margin covers the truth.
//
// The margin is that of samples that do not depend on each other. It does not contain what differs
// between two runs of the same program: input, layout of memory, other load. Only more runs show
// that. It is too small for a program that does the same every few milliseconds, because the clock of
// the samples keeps step with such a program for a while.
//
// # Number of samples
//
// The margin needs the number of samples behind a share, and a profile may only have sums of
// periods, times or bytes.
//
// If samples have different periods, a few long ones decide about the sum. The number of equal samples
// that would vary as much is (Σw)²/Σw² for weights w (Kish, Survey Sampling, 1965). Recordings and the
// text of perf script have what is needed: Metric.Squares. For other profiles, Samples takes the
// lowest of these numbers, since each may be too high:
//
//   - The sum of the counts, because no count stands for less than one sample. It is the number of
//     samples if the metric counts them, as in most folded stacks.
//   - The samples that were received, by the accounts.
//   - The total time divided by the time that one sample stands for (Profile.Period).
//   - Kish's number, if times or bytes have a column of counts next to them, such as waits. Each row
//     is taken for waits of equal length.
//
// If no other number is lower than the sum of the counts, and all values are multiples of a large number, that
// number is taken for the period. Folded stacks do not say whether they have samples or nanoseconds.
package diff
