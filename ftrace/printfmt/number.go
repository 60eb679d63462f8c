package printfmt

// appendInteger prints a number as the kernel does (lib/vsprintf.c, number). There are two
// differences from C's printf: # writes 0x also before zero, and a precision does not turn off
// zero padding.
func (c *conversion) appendInteger(dst []byte, v uint64) []byte {
	v = c.typ.Convert(v)
	sign := byte(0)
	if c.typ.Signed {
		switch {
		case int64(v) < 0:
			sign, v = '-', -v
		case c.plus:
			sign = '+'
		case c.space:
			sign = ' '
		}
	}
	var digits [24]byte
	start := len(digits)
	letters := hexDigits
	if c.upper {
		letters = "0123456789ABCDEF"
	}
	for zero := v == 0; v > 0 || zero; zero = false {
		start--
		digits[start] = letters[v%c.base]
		v /= c.base
	}
	isZero := len(digits)-start == 1 && digits[start] == '0'

	prefix := ""
	switch {
	case !c.prefix || c.base == 10 || c.base == 8 && isZero:
	case c.base == 8:
		prefix = "0"
	case c.upper:
		prefix = "0X"
	default:
		prefix = "0x"
	}
	count := len(digits) - start
	zeros := max(c.precision-count, 0)
	padding := c.width - count - zeros - len(prefix)
	if sign != 0 {
		padding--
	}
	if !c.zero && !c.left {
		dst = appendRepeated(dst, ' ', padding)
		padding = 0
	}
	if sign != 0 {
		dst = append(dst, sign)
	}
	dst = append(dst, prefix...)
	if !c.left {
		dst = appendRepeated(dst, '0', padding)
		padding = 0
	}
	dst = appendRepeated(dst, '0', zeros)
	dst = append(dst, digits[start:]...)
	return appendRepeated(dst, ' ', padding)
}

func appendRepeated(dst []byte, b byte, n int) []byte {
	for ; n > 0; n-- {
		dst = append(dst, b)
	}
	return dst
}

// appendPadded pads the text in dst[start:] to the conversion's width. length is the number of
// characters that the kernel counts there.
func (c *conversion) appendPadded(dst []byte, start, length int) []byte {
	spaces := c.width - length
	if spaces <= 0 {
		return dst
	}
	end := len(dst)
	dst = appendRepeated(dst, ' ', spaces)
	if !c.left {
		copy(dst[start+spaces:], dst[start:end])
		for i := start; i < start+spaces; i++ {
			dst[i] = ' '
		}
	}
	return dst
}
