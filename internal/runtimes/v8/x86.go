package v8

import "bytes"

const prologueAMD64 = 48 // bytes of code that may run before the frame is made

// baselineCall is the offset where baseline code calls the builtin that makes its frame.
const baselineCall = 15

// baselineBegins reports whether code starts like the baseline compiler's: mov $size,%ebx;
// movabs $bytecode,%r12; call.
func baselineBegins(code []byte) bool {
	return code[0] == 0xbb && code[5] == 0x49 && code[6] == 0xbc
}

// shapeAMD64 implements machine.shapeAt.
func shapeAMD64(code []byte, offset int, behind uint64) (s shape, below uint64) {
	makes := []byte{0x55, 0x48, 0x89, 0xe5}  // push %rbp; mov %rsp,%rbp
	leaves := []byte{0x48, 0x8b, 0xe5, 0x5d} // mov %rbp,%rsp; pop %rbp
	next := code[offset:]
	switch {
	case behind < prologueAMD64 && bytes.Contains(next, makes):
		return before, 8
	case behind < prologueAMD64 && bytes.HasPrefix(next, makes[1:]) && code[offset-1] == makes[0]:
		return pushed, 16
	case next[0] == 0x5d: // pop %rbp
		return pushed, 16
	case next[0] == 0xc3, next[0] == 0xc2: // ret
		return after, 8
	}
	past := code[:offset]
	if behind < uint64(offset) {
		past = past[offset-int(behind):]
	}
	if i := bytes.LastIndex(past, leaves); i >= 0 && !returns(past[i+len(leaves):]) {
		return after, 8
	}
	return whole, 0
}

// returns reports whether code, which follows the removal of a frame, ends: by a jump to
// another function, or by a return.
func returns(code []byte) bool {
	jumps := len(code) > 0 && (code[0] == 0xe9 || code[0] == 0xeb)
	return jumps || bytes.IndexByte(code, 0xc3) >= 0 || bytes.IndexByte(code, 0xcc) >= 0
}
