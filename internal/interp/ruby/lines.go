package ruby

import (
	"encoding/binary"
	"math/bits"
)

// line is the line of the instruction before pc, 0 if it has none.
func (r *ruby) line(body *[bodySize]byte, pc uint64) int {
	at := (pc - word(body, bodyCode)) / 8
	if at > uint64(binary.LittleEndian.Uint32(body[bodyLength:])) {
		return 0
	}
	if at > 0 {
		at--
	}
	entry, ok := r.entry(body, at)
	if !ok {
		return 0
	}
	var b [4]byte
	if !r.memory.Read(word(body, r.bodyLines)+entry*r.lineSize+r.lineAt, b[:]) {
		return 0
	}
	return max(int(int32(binary.LittleEndian.Uint32(b[:]))), 0)
}

// entry is the number of the entry that has the line of an instruction.
func (r *ruby) entry(body *[bodySize]byte, at uint64) (entry uint64, ok bool) {
	count := uint64(binary.LittleEndian.Uint32(body[r.bodyCount:]))
	if count <= 1 {
		return 0, count == 1
	}
	if r.bodyIndex == 0 {
		return r.search(word(body, r.bodyLines), count, at)
	}
	rank, ok := r.rank(word(body, r.bodyIndex), at)
	return rank - 1, ok && rank > 0 && rank <= count
}

// search is the last of the entries, each of which begins with the number of an instruction, that begins not
// behind an instruction.
func (r *ruby) search(entries, count, at uint64) (entry uint64, ok bool) {
	var b [4]byte
	low, high := uint64(0), count
	for high-low > 1 {
		middle := (low + high) / 2
		if !r.memory.Read(entries+middle*r.lineSize, b[:]) {
			return 0, false
		}
		if uint64(binary.LittleEndian.Uint32(b[:])) <= at {
			low = middle
		} else {
			high = middle
		}
	}
	return low, true
}

// A succ_index_table (iseq.c): for the first instructions the number of entries up to
// each, nine of seven bits in a word; then blocks of 512 bits, one for each instruction,
// set where an entry begins, with the number of those before the block, and before each
// word of it but the first, in nine bits.
const (
	direct      = 54
	directWords = direct / 9
	blockBits   = 512
	blockRanks  = 8
	blockWords  = 16
	blockSize   = 80
)

// rank is how many entries begin up to an instruction.
func (r *ruby) rank(table, at uint64) (uint64, bool) {
	var b [blockSize]byte
	if at < direct {
		word, ok := r.word(table+at/9*8, b[:])
		return word >> (at % 9 * 7) & 0x7f, ok
	}
	at -= direct
	if !r.memory.Read(table+directWords*8+at/blockBits*blockSize, b[:]) {
		return 0, false
	}
	at %= blockBits
	rank := uint64(binary.LittleEndian.Uint32(b[:]))
	if at >= 64 {
		rank += binary.LittleEndian.Uint64(b[blockRanks:]) >> ((at/64 - 1) * 9) & 0x1ff
	}
	word := binary.LittleEndian.Uint64(b[blockWords+at/64*8:])
	return rank + uint64(bits.OnesCount64(word<<(63-at%64))), true
}
