package symbols

import "bytes"

// cstring returns the NUL-terminated string at off, cut to limit bytes. It returns "" if off is
// beyond b.
func cstring(b []byte, off uint64, limit int) string {
	return string(cbytes(b, off, limit))
}

// cbytes is cstring without the copy.
func cbytes(b []byte, off uint64, limit int) []byte {
	if off >= uint64(len(b)) {
		return nil
	}
	b = b[off:]
	if len(b) > limit {
		b = b[:limit]
	}
	if i := bytes.IndexByte(b, 0); i >= 0 {
		b = b[:i]
	}
	return b
}
