package exacttext

import (
	"encoding/binary"
	"slices"
)

// state is what became of a text.
type state uint8

const (
	unread state = iota // not all of it could be read, or there is no pointer
	whole
	cut // it goes on
)

// trailer is the bytes behind each text: the pointer, and its length with its state.
const trailer = 16

// Found is a text that was read.
type Found struct {
	Addr  uint64 // the pointer that was in the record or in the register
	Read  bool   // it could be read
	Bytes []byte // without the zero at its end; of a vector each with its own
	Cut   bool   // it goes on
}

// unpack takes apart what the visitor kept, back to front.
func unpack(data []byte) []Found {
	var found []Found
	for len(data) >= trailer {
		end := len(data) - trailer
		last := binary.LittleEndian.Uint64(data[end+8:])
		f := Found{Addr: binary.LittleEndian.Uint64(data[end:])}
		length, s := last>>8, state(last)
		if length > uint64(end) {
			return nil
		}
		if data = data[:end]; s != unread {
			f.Read, f.Cut, f.Bytes = true, s == cut, data[end-int(length):]
		}
		data = data[:end-int(length)]
		found = append(found, f)
	}
	slices.Reverse(found)
	return found
}
