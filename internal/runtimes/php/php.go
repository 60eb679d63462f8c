package php

import (
	"bytes"
	"strconv"

	"github.com/ringtap/ringtap/callchain"
	"github.com/ringtap/ringtap/internal/runtimes/interp"
)

type php struct {
	memory interp.Memory
	name   string
	tid    int    // of the thread that runs PHP, in its pid namespace
	head   uint64 // address of the pointer to the innermost frame
	file   uint64 // offset of the function's file: zend_op_array.filename
	loop   interp.Span
	// handlers run instructions for the loop, as far as compilers have not inlined them.
	handlers interp.Spans
	known    map[uint64]*function
}

// Offsets and sizes, in bytes, that are the same in all releases.
const (
	frameLine     = 0 // zend_execute_data: opline, func, This.u1.type_info, prev_execute_data
	frameFunction = 24
	frameInfo     = 40
	frameBack     = 48
	frameSize     = 56

	functionName  = 8 // zend_function: type is its first byte
	functionScope = 16
	className     = 8 // zend_class_entry
	opLine        = 24
	opSize        = 32
	stringLength  = 16 // zend_string
	stringValue   = 24
	stringKind    = 4
)

// top is the flag of the first frame of an execute_ex call (ZEND_CALL_TOP).
const top = 1 << 17

// layoutOf returns the offsets of zend_executor_globals.current_execute_data and of
// zend_op_array.filename in a release. The first and the last line follow the filename.
func layoutOf(major, minor int) (current, file uint64, ok bool) {
	switch major*100 + minor {
	case 703:
		return 488, 128, true
	case 704:
		return 488, 136, true
	case 800, 801, 803:
		return 488, 144, true
	case 802:
		return 488, 152, true
	case 804:
		return 488, 168, true
	case 805, 806:
		return 512, 168, true
	}
	return 0, 0, false
}

// Detect attaches to PHP if m holds PHP's own code.
func Detect(p *interp.Process, m *interp.Module) (interp.Runtime, error) {
	loop, ok := m.Symbol("execute_ex")
	if !ok {
		return nil, nil
	}
	if _, ok := m.Symbol("zend_execute_internal"); !ok {
		return nil, nil
	}
	r := &php{memory: p.Memory, name: "PHP", tid: p.PID, known: make(map[uint64]*function)}
	version := versionOf(m)
	major, minor, ok := parseVersion(version)
	if !ok {
		return nil, &interp.UnknownError{Name: r.name, Why: "its version was not found"}
	}
	r.name += " " + version
	current, file, ok := layoutOf(major, minor)
	if !ok {
		return nil, &interp.UnknownError{Name: r.name, Why: "the releases that are known are 7.3 to 8.6"}
	}
	globals, ok := m.Symbol("executor_globals")
	if !ok {
		return nil, &interp.UnknownError{Name: r.name, Why: "it is a thread-safe build, whose frames each thread has elsewhere"}
	}
	r.head, r.file = globals.Addr+current, file
	r.loop, r.handlers = m.Span(loop), m.Handlers(loop, p.Arch)
	return r, nil
}

// maxRodata bounds how much of the file is searched for the version, in bytes.
const maxRodata = 64 << 20

// versionOf returns the version from the HTTP header that PHP sends, or "" if it is not found.
func versionOf(m *interp.Module) string {
	s, ok := m.Image.Section(".rodata")
	if !ok || s.Size > maxRodata {
		return ""
	}
	b, err := m.Image.Bytes(s)
	if err != nil {
		return ""
	}
	_, b, _ = bytes.Cut(b, []byte("X-Powered-By: PHP/"))
	end := 0
	for end < min(len(b), 16) && (b[end] == '.' || '0' <= b[end] && b[end] <= '9') {
		end++
	}
	return string(b[:end])
}

// parseVersion reads "8.2.36".
func parseVersion(text string) (major, minor int, ok bool) {
	parts := bytes.Split([]byte(text), []byte("."))
	if len(parts) != 3 {
		return 0, 0, false
	}
	major, err := strconv.Atoi(string(parts[0]))
	if err != nil {
		return 0, 0, false
	}
	minor, err = strconv.Atoi(string(parts[1]))
	return major, minor, err == nil
}

// Name implements interp.Runtime.
func (r *php) Name() string { return r.name }

// Loop implements interp.Runtime.
func (r *php) Loop(f callchain.Frame) bool { return r.loop.Has(f) }

// Handler implements interp.Handlers.
func (r *php) Handler(f callchain.Frame) bool { return r.handlers.Has(f) }
