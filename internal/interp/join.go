package interp

import "github.com/ringtap/ringtap/callchain"

// Entry is one level of a chain that is joined: a call of a runtime, or a native frame.
type Entry struct {
	Native int // index of the native frame; -1 for a call
	Call   int // index of the call; -1 for a native frame
}

// Join puts the calls of a runtime where they belong in a thread's native chain, both
// leaf first, and appends the result to dst. A call with a PC replaces the native frame
// with that address. The other calls replace the frames of the loop: each frame of it
// those up to and including the next Entry. Calls that are left belong to the part of
// the native chain that is missing if truncated is set, and else show that the two are not
// of the same moment: then Join reports false, as where loops are left without calls.
func Join(dst []Entry, native []callchain.Frame, truncated bool, calls []Call, loop func(callchain.Frame) bool) ([]Entry, bool) {
	next := 0
	fits := true
	for i, f := range native {
		switch {
		case next < len(calls) && calls[next].PC != 0 && calls[next].PC == f.PC():
			dst = append(dst, Entry{-1, next})
			next++
		case loop(f):
			if next == len(calls) || calls[next].PC != 0 {
				fits = false
				dst = append(dst, Entry{i, -1})
				continue
			}
			for next < len(calls) && calls[next].PC == 0 {
				dst = append(dst, Entry{-1, next})
				next++
				if calls[next-1].Entry {
					break
				}
			}
		default:
			dst = append(dst, Entry{i, -1})
		}
	}
	if next < len(calls) {
		fits = fits && truncated
		for ; next < len(calls); next++ {
			dst = append(dst, Entry{-1, next})
		}
	}
	return dst, fits
}
