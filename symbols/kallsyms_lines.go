package symbols

import (
	"bufio"
	"bytes"
	"cmp"
	"errors"
	"fmt"
	"io"
)

// KernelSymbol is a line of /proc/kallsyms.
type KernelSymbol struct {
	Address uint64 // 0 if the kernel hides it
	Type    byte   // as in nm(1): t, T, w and W are code
	Name    []byte
	Module  []byte // empty for the kernel proper
}

var errKallsymsLine = errors.New("want ADDRESS TYPE NAME")

// EachKernelSymbol reads text in the form of /proc/kallsyms: lines of
//
//	ADDRESS TYPE NAME[\t[MODULE]]
//
// It calls each for every line. The symbol and its bytes are valid until each returns. If each
// returns an error, reading ends. EachKernelSymbol returns nil for io.EOF and wraps any other
// error with the line number. A malformed line is an error, too.
func EachKernelSymbol(r io.Reader, each func(*KernelSymbol) error) error {
	lines := bufio.NewReaderSize(r, maxSymbolName+256)
	var s KernelSymbol
	for n := 1; ; n++ {
		line, err := lines.ReadSlice('\n')
		if len(line) > 0 && err != bufio.ErrBufferFull {
			if !s.parse(bytes.TrimSuffix(line, []byte("\n"))) {
				err = errKallsymsLine
			} else {
				err = cmp.Or(each(&s), err)
			}
		}
		if err == io.EOF {
			return nil
		}
		if err != nil {
			return fmt.Errorf("line %d: %w", n, err)
		}
	}
}

// parse parses a line and reports whether it is well-formed.
func (s *KernelSymbol) parse(line []byte) bool {
	addr, rest, ok := cutHex(line)
	if !ok || len(rest) < 4 || rest[0] != ' ' || rest[2] != ' ' {
		return false
	}
	s.Address, s.Type, s.Name, s.Module = addr, rest[1], rest[3:], nil
	if tab := bytes.IndexByte(s.Name, '\t'); tab >= 0 {
		s.Name, s.Module = s.Name[:tab], bytes.Trim(s.Name[tab+1:], "[] ")
	}
	return len(s.Name) > 0
}

// cutHex returns the hexadecimal number at the start of b, and the rest.
func cutHex(b []byte) (n uint64, rest []byte, ok bool) {
	i := 0
	for ; i < len(b) && i <= 16; i++ {
		digit := b[i] - '0'
		if digit > 9 {
			if digit = (b[i] | 0x20) - 'a'; digit > 5 { // lower or upper case
				return n, b[i:], i > 0
			}
			digit += 10
		}
		n = n<<4 | uint64(digit)
	}
	return n, b[i:], i > 0 && i <= 16
}
