package main

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io"
	"os"
	"regexp"
	"strconv"
	"time"
)

// recordingDone is the line that ringtap -v logs between recording and report.
var recordingDone = regexp.MustCompile(`"recording done".* user=(\S+) system=(\S+)`)

// recordingSeconds returns the CPU seconds up to the end of the recording.
func recordingSeconds(log []byte) (float64, error) {
	m := recordingDone.FindSubmatch(log)
	if m == nil {
		return 0, errors.New("ringtap -v does not say what recording took (\"recording done\" user= system=)")
	}
	var sum time.Duration
	for _, text := range m[1:] {
		d, err := time.ParseDuration(string(text))
		if err != nil {
			return 0, fmt.Errorf("what ringtap's recording took: %w", err)
		}
		sum += d
	}
	return sum.Seconds(), nil
}

func scanFile(path string, count func(io.Reader) (uint64, error)) (uint64, error) {
	f, err := os.Open(path)
	if err != nil {
		return 0, err
	}
	defer f.Close()
	n, err := count(f)
	if err != nil {
		return 0, fmt.Errorf("count the samples of %s: %w", path, err)
	}
	return n, nil
}

// countFolded adds up the values of folded stacks.
func countFolded(r io.Reader) (sum uint64, err error) {
	err = eachLine(r, func(line []byte) error {
		n, err := strconv.ParseUint(string(line[bytes.LastIndexByte(line, ' ')+1:]), 10, 64)
		sum += n
		return err
	})
	return sum, err
}

// countScript counts the samples of perf script: lines that are not indented
// head one sample each.
func countScript(r io.Reader) (n uint64, err error) {
	err = eachLine(r, func(line []byte) error {
		if line[0] != '\t' && line[0] != ' ' && line[0] != '#' {
			n++
		}
		return nil
	})
	return n, err
}

// eachLine calls f for every line that is not empty.
func eachLine(r io.Reader, f func(line []byte) error) error {
	lines := bufio.NewScanner(r)
	lines.Buffer(nil, 1<<20)
	for lines.Scan() {
		if len(lines.Bytes()) == 0 {
			continue
		}
		if err := f(lines.Bytes()); err != nil {
			return err
		}
	}
	return lines.Err()
}
