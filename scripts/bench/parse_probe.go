package main

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"regexp"
	"strconv"
)

// captured is perf record's last line,
//
//	[ perf record: Captured and wrote 2.466 MB hits.data (29999 samples) ]
//
// which says nothing of samples if there are none.
var captured = regexp.MustCompile(`Captured and wrote [^\n]* MB [^\n]*?(?: \((\d+) samples\))? \]`)

// recordedSamples returns how many samples perf record says that it wrote.
func recordedSamples(log []byte) (uint64, error) {
	m := captured.FindSubmatch(log)
	switch {
	case m == nil:
		return 0, fmt.Errorf("perf record does not say what it wrote: %s", lastLines(log, 5))
	case len(m[1]) == 0:
		return 0, nil
	}
	return strconv.ParseUint(string(m[1]), 10, 64)
}

// bufferStat finds a number in the statistics that tracefs shows of the buffer of
// one CPU, lines such as "read events: 12".
func bufferStat(text []byte, name string) (uint64, error) {
	for line := range bytes.Lines(text) {
		if value, ok := bytes.CutPrefix(line, []byte(name+":")); ok {
			return strconv.ParseUint(string(bytes.TrimSpace(value)), 10, 64)
		}
	}
	return 0, fmt.Errorf("no line says %q", name)
}

// bpftraceCount finds the number in the map that bpftrace prints at its end:
// "@: 12".
func bpftraceCount(r io.Reader) (n uint64, err error) {
	found := false
	err = eachLine(r, func(line []byte) error {
		value, ok := bytes.CutPrefix(line, []byte("@: "))
		if !ok {
			return nil
		}
		found = true
		n, err = strconv.ParseUint(string(bytes.TrimSpace(value)), 10, 64)
		return err
	})
	if err == nil && !found {
		err = errors.New("bpftrace prints no count")
	}
	return n, err
}

// bpftraceEntry finds the number at the end of an entry of a map, by stack or by
// name: "]: 12", "@[vfs_read]: 12".
func bpftraceEntry(line []byte) (n uint64, ok bool, err error) {
	_, value, ok := bytes.Cut(line, []byte("]: "))
	if !ok {
		return 0, false, nil
	}
	n, err = strconv.ParseUint(string(bytes.TrimSpace(value)), 10, 64)
	return n, true, err
}

// bpftraceSum adds up the entries of the map that bpftrace prints at its end.
func bpftraceSum(r io.Reader) (sum uint64, err error) {
	err = eachLine(r, func(line []byte) error {
		n, _, err := bpftraceEntry(line)
		sum += n
		return err
	})
	return sum, err
}

// lineCounter counts the lines of trace_pipe's form for one event:
//
//	bench-hits-1875    [001] .....   521.188474: NAME: (0x7f29fa4e5ee0)
func lineCounter(event string) func(io.Reader) (uint64, error) {
	mark := []byte(": " + event + ": (")
	return func(r io.Reader) (n uint64, err error) {
		err = eachLine(r, func(line []byte) error {
			if bytes.Contains(line, mark) {
				n++
			}
			return nil
		})
		return n, err
	}
}
