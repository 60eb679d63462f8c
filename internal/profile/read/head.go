package read

import (
	"bytes"
	"regexp"
	"strconv"
)

// head is the first line of a sample in perf script's text.
type head struct {
	comm, event []byte
	pid         int    // of the process, or of the thread if the text has no processes
	weight      uint64 // period; 1 if the text has none
	hasPeriod   bool
	rest        []byte // after the event: an address or a tracepoint's fields
	record      bool   // it is no sample but a record such as PERF_RECORD_MMAP
}

// The name of a process may contain blanks and numbers. It ends before the first number after which
// the rest matches: the CPU, flags (perf script -F misc) and the time, or in a text without times
// the period and the event.
//
//	spin 1 x 30478/30479 [001]  1151.230820:    1001001 cpu-clock:
var (
	timedHead = regexp.MustCompile(`^[ \t]*(?:(.*?)[ \t]+)?(-?\d+)(?:/(-?\d+))?[ \t]+(?:\[\d+\][ \t]+)?(?:[A-Za-z.][A-Za-z0-9.]*[ \t]+)?\d+\.\d{3,}:(?:[ \t]+(.*))?$`)
	plainHead = regexp.MustCompile(`^([^\s;][^;]*?)[ \t]+(-?\d+)(?:/(-?\d+))?[ \t]+(?:\[\d+\][ \t]+)?((?:\d+[ \t]+)?[^ \t:][^ \t]*:(?:[ \t].*)?)$`)
)

// parseHead parses the first line of a sample. ok is false if the line is something else.
func parseHead(text []byte) (h head, ok bool) {
	text = bytes.TrimSuffix(text, []byte("\r"))
	m := timedHead.FindSubmatch(text)
	if m == nil {
		m = plainHead.FindSubmatch(text)
	}
	if m == nil {
		return head{}, false
	}
	pid, err := strconv.Atoi(string(m[2]))
	if err != nil {
		return head{}, false
	}
	h = head{comm: m[1], pid: pid, weight: 1}
	if bytes.HasPrefix(m[4], []byte("PERF_RECORD_")) {
		h.record = true
		return h, true
	}
	period, event := cutWord(m[4])
	weight, err := strconv.ParseUint(string(period), 10, 64)
	if err != nil {
		event, weight = m[4], 1
	}
	name, rest, _ := bytes.Cut(event, []byte(" "))
	if name, isEvent := bytes.CutSuffix(name, []byte(":")); isEvent {
		h.event, h.rest, h.weight, h.hasPeriod = name, rest, max(weight, 1), err == nil
	} else {
		h.rest = m[4]
	}
	return h, true
}

// cutWord splits the first word from a text.
func cutWord(text []byte) (word, rest []byte) {
	text = bytes.TrimLeft(text, " \t")
	i := bytes.IndexAny(text, " \t")
	if i < 0 {
		return text, nil
	}
	return text[:i], bytes.TrimLeft(text[i:], " \t")
}

// call returns the instruction that a sample without a call chain has after its event. perf prints
// its address in 16 columns, unlike a tracepoint's fields.
func (h *head) call() (c call, ok bool) {
	text := bytes.TrimLeft(h.rest, " ")
	word, _ := cutWord(text)
	if len(h.rest)-len(text)+len(word) < 16 {
		return call{}, false
	}
	return parseCall(text)
}

// call is a line of a call chain.
type call struct {
	address, offset uint64
	name            []byte // empty if the function is unknown
	file            []byte // empty if it is unknown
	inlined         bool   // in the function of the next line
}

// parseCall returns the call in a line:
//
//	ffffffff821fb643 schedule+0x23 ([kernel.kallsyms])
//	            1065 std::sort(int*) (inlined)
//	            118f [unknown] (/tmp/spin 1 x (deleted))
func parseCall(text []byte) (c call, ok bool) {
	word, name := cutWord(text)
	if c.address, ok = parseHex(word); !ok {
		return call{}, false
	}
	name = bytes.TrimRight(name, " \t\r")
	if i := lastGroup(name); i >= 0 {
		c.file = name[i+1 : len(name)-1]
		name = bytes.TrimRight(name[:i], " ")
	}
	if string(c.file) == "inlined" {
		c.file, c.inlined = nil, true
	}
	if string(c.file) == "[unknown]" {
		c.file = nil
	}
	if i := bytes.LastIndex(name, []byte("+0x")); i > 0 {
		if offset, isOffset := parseHex(name[i+len("+0x"):]); isOffset {
			c.offset, name = offset, name[:i]
		}
	}
	if string(name) != "[unknown]" {
		c.name = name
	}
	return c, true
}

// lastGroup returns the index of the parenthesis that opens a text's last group, or -1. The group
// comes after a blank and ends the text. It may contain groups, as in "(/tmp/a (deleted))".
func lastGroup(text []byte) int {
	if !bytes.HasSuffix(text, []byte(")")) {
		return -1
	}
	depth := 0
	for i := len(text) - 1; i >= 0; i-- {
		switch text[i] {
		case ')':
			depth++
		case '(':
			depth--
		}
		if depth == 0 {
			if i == 0 || text[i-1] == ' ' {
				return i
			}
			return -1
		}
	}
	if i := bytes.LastIndex(text, []byte(" (")); i >= 0 { // a path with a ')' of its own
		return i + 1
	}
	return -1
}

func parseHex(text []byte) (uint64, bool) {
	if len(text) == 0 || len(text) > 16 {
		return 0, false
	}
	v, err := strconv.ParseUint(string(text), 16, 64)
	return v, err == nil
}
