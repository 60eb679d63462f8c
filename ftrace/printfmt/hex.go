package printfmt

import "bytes"

const hexDigits = "0123456789abcdef"

// appendHex appends bytes in hexadecimal. If separator is not 0, it is put between them.
func appendHex(dst, b []byte, separator byte) []byte {
	for i, c := range b {
		if i > 0 && separator != 0 {
			dst = append(dst, separator)
		}
		dst = append(dst, hexDigits[c>>4], hexDigits[c&15])
	}
	return dst
}

func untilZero(b []byte) []byte {
	text, _, _ := bytes.Cut(b, []byte{0})
	return text
}
