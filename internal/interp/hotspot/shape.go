package hotspot

import (
	"bytes"
	"encoding/binary"
)

// shape is how much of a frame there is.
type shape uint8

const (
	whole   shape = iota
	unsaved       // it is as large as it will be, and the caller's frame pointer still in its register
	pushed        // the caller's frame pointer lies on top
	bare          // the return address does
)

const (
	codeAhead   = 32  // how many bytes of instructions are looked at
	maxPrologue = 512 // the same, where the frame is made
)

// making tells how much of a frame of a size there is before instructions that end where it is
// complete. It is so when the instructions that make it are behind: a barrier may follow them,
// and a check of the receiver's class precedes them.
func making(code []byte, frame uint64) shape {
	starts := func(with ...byte) bool { return bytes.HasPrefix(code, with) }
	switch {
	case starts(0x48, 0x89, 0x6c, 0x24), starts(0x48, 0x89, 0xac, 0x24): // mov %rbp,n(%rsp)
		return unsaved
	case starts(0x48, 0x8b, 0xec), starts(0x48, 0x89, 0xe5): // mov %rsp,%rbp
		return pushed
	}
	if frame <= 16 {
		if bytes.IndexByte(code, 0x55) >= 0 { // push %rbp is all
			return bare
		}
		return whole
	}
	switch after := subtracts(code, frame-16); {
	case after == 0:
		return pushed
	case after > 0, subtracts(code, frame-8) >= 0: // the latter saves the frame pointer by mov
		return bare
	}
	return whole
}

// subtracts is where code makes room for a frame: sub $n,%rsp, in one of its two encodings. It is
// negative if it does not.
func subtracts(code []byte, n uint64) int {
	at := bytes.Index(code, binary.LittleEndian.AppendUint32([]byte{0x48, 0x81, 0xec}, uint32(n)))
	if at < 0 && n < 128 {
		at = bytes.Index(code, []byte{0x48, 0x83, 0xec, byte(n)})
	}
	return at
}

// shapeOf tells from the instructions at a place behind the frame's making how much of the frame
// there is.
func shapeOf(code []byte) shape {
	is := func(at int, bytes ...byte) bool {
		for i, b := range bytes {
			if code[at+i] != b {
				return false
			}
		}
		return true
	}
	switch {
	case is(0, 0xc3): // ret
		return bare
	case is(0, 0x5d): // pop %rbp
		return pushed
	}
	// A poll for a safepoint goes between the frame's end and the return.
	for _, poll := range []struct {
		code   []byte
		length int
	}{
		{[]byte{0x49, 0x3b, 0x67}, 4}, // cmp n(%r15),%rsp
		{[]byte{0x49, 0x3b, 0xa7}, 7}, // the same, farther off
		{[]byte{0x0f, 0x87}, 6},       // ja
		{[]byte{0x41, 0x85, 0x02}, 3}, // test %eax,(%r10)
		{[]byte{0x85, 0x05}, 6},       // test %eax,n(%rip)
		{[]byte{0x4d, 0x8b, 0x57}, 4}, // mov n(%r15),%r10
		{[]byte{0x4d, 0x8b, 0x97}, 7}, // the same, farther off
		{[]byte{0xc5, 0xf8, 0x77}, 3}, // vzeroupper
	} {
		if is(0, poll.code...) && endsSoon(code[poll.length:]) {
			return bare
		}
	}
	return whole
}

// endsSoon tells whether code polls and returns at once.
func endsSoon(code []byte) bool {
	for len(code) >= 7 {
		switch {
		case code[0] == 0xc3:
			return true
		case code[0] == 0x0f && code[1] == 0x87:
			code = code[6:]
		case code[0] == 0x41 && code[1] == 0x85 && code[2] == 0x02:
			code = code[3:]
		case code[0] == 0x49 && code[1] == 0x3b && code[2] == 0x67:
			code = code[4:]
		case code[0] == 0x49 && code[1] == 0x3b && code[2] == 0xa7:
			code = code[7:]
		default:
			return false
		}
	}
	return false
}
