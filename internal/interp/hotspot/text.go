package hotspot

// text is the code of a blob as it was when a thread was seen in it first: instructions tell how
// much of a frame there is, also of the last samples of a process, when it has ended.
type text struct {
	compileID  uint32
	code, size uint64 // of the blob
	bytes      []byte
}

// maxText bounds the code of a process that is remembered, in bytes. The code of a large method
// is less than 64 KiB.
const maxText = 4 << 20

// codeAt is so many bytes of a blob's code, from an address in it on; what is not the blob's is zero.
func (r *Runtime) codeAt(b *blob, pc uint64, n int) ([]byte, bool) {
	t, ok := r.texts[b.addr]
	if !ok || t.compileID != b.compileID || t.code != b.code || t.size != b.size {
		t = text{b.compileID, b.code, b.size, make([]byte, min(b.addr+b.size-b.code, maxText))}
		if !r.mem.Read(b.code, t.bytes) {
			return nil, false
		}
		if r.texted += len(t.bytes); r.texted > maxText {
			clear(r.texts)
			r.texted = len(t.bytes)
		}
		r.texts[b.addr] = t
	}
	at := min(pc-t.code, uint64(len(t.bytes)))
	if code := t.bytes[at:]; len(code) >= n {
		return code[:n], true
	}
	return append(make([]byte, 0, n), t.bytes[at:]...)[:n], true
}
