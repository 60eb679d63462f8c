package recordedkernel

import (
	"bufio"
	"bytes"
	"encoding/binary"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"strconv"

	"github.com/ringtap/ringtap/symbols"
)

// Bounds of the text.
const (
	maxLine = 64 << 10 // bytes; package symbols takes fewer
	// maxHead bounds the lines before the recorded symbol, in bytes. Only the per-CPU variables of
	// x86-64 come before _text and _stext.
	maxHead = 4 << 20
)

var errLine = errors.New("want ADDRESS TYPE NAME")

// shifted reads the text of a kernel's symbols and adds a number to their addresses.
type shifted struct {
	io.Closer
	lines   *bufio.Reader
	shift   uint64          // what it adds, modulo 1<<64
	modules map[string]bool // lines of other modules are left out
	line    []byte          // the current line
	unread  []byte          // the part of line that Read has not returned
}

// shift returns text with the recorded addresses. modules are the modules to keep if no address
// changes. Closing the result closes text; an error closes it, too. name is for error messages.
func (k *Kernel) shift(name string, text io.ReadCloser, modules map[string]bool) (io.ReadCloser, error) {
	s := &shifted{Closer: text, lines: bufio.NewReaderSize(text, maxLine)}
	head, now, err := k.find(s.lines)
	if err == nil && now == 0 {
		err = symbols.ErrAddressesHidden
	}
	if err != nil {
		return nil, errors.Join(fmt.Errorf("%s: %w", name, err), text.Close())
	}
	s.lines = bufio.NewReaderSize(io.MultiReader(bytes.NewReader(head), s.lines), maxLine)
	if s.shift = k.Address - now; s.shift == 0 {
		s.modules = modules
	}
	return s, nil
}

// find reads lines until it finds the recorded symbol. It returns these lines and the symbol's address.
func (k *Kernel) find(lines *bufio.Reader) (head []byte, now uint64, err error) {
	for len(head) < maxHead {
		b, err := lines.ReadSlice('\n')
		if len(b) == 0 && err == io.EOF {
			break
		}
		if err != nil && err != io.EOF {
			return nil, 0, err
		}
		head = append(head, b...)
		s, ok := parse(b)
		if !ok {
			return nil, 0, errLine
		}
		if len(s.Module) == 0 && !absolute(&s) && string(s.Name) == k.Symbol {
			return head, s.Address, nil
		}
	}
	return nil, 0, fmt.Errorf("symbol %s, whose address was recorded, is not in it", k.Symbol)
}

// Read implements io.Reader. It returns an error for a malformed line.
func (s *shifted) Read(p []byte) (int, error) {
	for len(s.unread) == 0 {
		if err := s.next(); err != nil {
			return 0, err
		}
	}
	n := copy(p, s.unread)
	s.unread = s.unread[n:]
	return n, nil
}

// next reads a line and sets unread, unless the line is left out.
func (s *shifted) next() error {
	b, err := s.lines.ReadSlice('\n')
	if len(b) == 0 || err != nil && err != io.EOF {
		return err
	}
	symbol, ok := parse(b)
	switch {
	case !ok:
		return errLine
	case len(symbol.Module) > 0 && !s.modules[string(symbol.Module)]:
		return nil
	}
	if !absolute(&symbol) {
		symbol.Address += s.shift
	}
	var address [8]byte
	binary.BigEndian.PutUint64(address[:], symbol.Address)
	s.line = hex.AppendEncode(s.line[:0], address[:])
	s.line = append(s.line, b[bytes.IndexByte(b, ' '):]...)
	s.unread = s.line
	return nil
}

// absolute reports whether a symbol stays where it is when the kernel moves, as x86-64's per-CPU
// variables do.
func absolute(s *symbols.KernelSymbol) bool { return s.Type == 'A' || s.Type == 'a' }

// parse parses a line. ok is false if it is malformed.
func parse(line []byte) (s symbols.KernelSymbol, ok bool) {
	address, rest, _ := bytes.Cut(line, []byte(" "))
	addr, err := strconv.ParseUint(string(address), 16, 64)
	if err != nil || len(rest) < 3 || rest[1] != ' ' {
		return s, false
	}
	name, module, _ := bytes.Cut(bytes.TrimSuffix(rest[2:], []byte("\n")), []byte("\t"))
	return symbols.KernelSymbol{Address: addr, Type: rest[0], Name: name, Module: bytes.Trim(module, "[] ")}, len(name) > 0
}
