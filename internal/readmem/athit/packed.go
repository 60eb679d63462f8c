package athit

import (
	"encoding/binary"
	"slices"
)

// trailer is the size in bytes of what the helper adds after each pointer's bytes: a word with the pointer, and one
// with the number of bytes and their state. Their number is not known before they are read.
const trailer = 16

func wordOf(b []byte) uint64 { return binary.LittleEndian.Uint64(b) }

// unpack returns what the helper kept of a hit. It reads data from its end.
func unpack(data []byte, certainty Certainty) []Found {
	var found []Found
	for len(data) >= trailer {
		end := len(data) - trailer
		last := wordOf(data[end+8:])
		f := Found{Addr: wordOf(data[end:]), Certainty: certainty}
		length, s := last>>8, state(last)
		if length > uint64(end) {
			return nil
		}
		if data = data[:end]; s != unread {
			f.Read, f.Cut, f.Bytes = true, s == cut, slices.Clip(data[end-int(length):])
		}
		data = data[:end-int(length)]
		found = append(found, f)
	}
	slices.Reverse(found)
	return found
}
