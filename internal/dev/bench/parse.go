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

// counter counts the hits in a tool's results. It adds up the numbers that the pattern's group
// finds, at most one per line. If the pattern has no group, it counts the lines that match. The
// results are in the file $out if in is nil, else in the output that in returns.
type counter struct {
	pattern string // a regular expression
	in      func(result) []byte
}

func stdout(r result) []byte { return r.stdout }
func stderr(r result) []byte { return r.stderr }

var (
	// folded: "a;main;leaf 3".
	folded = counter{pattern: `(\S+)$`}
	// foldedUnnamed: the leaf is an address, or "[unknown] ([anon])".
	foldedUnnamed = counter{pattern: `;(?:\[unknown\]|0x)[^;]* (\d+)$`}
	// scripted: lines of perf script that are not indented head one sample each.
	scripted = counter{pattern: `^[^\t #]`}
	// captured: perf record's last line, which omits the samples if there are none:
	// "[ perf record: Captured and wrote 2.466 MB hits.data (29999 samples) ]".
	captured = counter{pattern: `Captured and wrote .* MB .*?(?: \((\d+) samples\))? \]`, in: stderr}
	// mapCount: bpftrace's map without a key, "@: 12". mapCounts: the entries of a map with
	// keys, "@[vfs_read]: 12", or "]: 12" after a stack.
	mapCount  = counter{pattern: `^@: (.*)$`, in: stdout}
	mapCounts = counter{pattern: `\]: (.*)$`}
	// readEvents: a line in the statistics that tracefs shows for the buffer of one CPU.
	readEvents = counter{pattern: `^read events: (.*)$`}
	// eventLines: lines for one event in the form of trace_pipe:
	//	bench-hits-1875    [001] .....   521.188474: bench_9: (0x7f29fa4e5ee0)
	eventLines = counter{pattern: `: $group: \(`, in: stdout}
)

var errNoLine = errors.New("no line of the tool's results matches")

// count returns how many hits are in the results of a tool that has ended.
func (s *session) count(c counter, r result) (uint64, error) {
	pattern, err := regexp.Compile(s.expand(c.pattern))
	if err != nil {
		return 0, err
	}
	if c.in != nil {
		return countIn(bytes.NewReader(c.in(r)), pattern)
	}
	return countFile(s.vars["out"], pattern)
}

func countFile(path string, pattern *regexp.Regexp) (uint64, error) {
	f, err := os.Open(path)
	if err != nil {
		return 0, err
	}
	defer f.Close()
	return countIn(f, pattern)
}

// countIn counts hits by a pattern: see counter. If no line matches, it returns errNoLine.
func countIn(r io.Reader, pattern *regexp.Regexp) (sum uint64, err error) {
	found := false
	scanner := bufio.NewScanner(r)
	scanner.Buffer(nil, 1<<20)
	for scanner.Scan() {
		m := pattern.FindSubmatch(scanner.Bytes())
		if m == nil {
			continue
		}
		found = true
		switch {
		case len(m) == 1:
			sum++
		case m[1] != nil:
			n, err := strconv.ParseUint(string(m[1]), 10, 64)
			if err != nil {
				return 0, fmt.Errorf("%q: %w", scanner.Text(), err)
			}
			sum += n
		}
	}
	if err := scanner.Err(); err != nil {
		return 0, err
	}
	if !found {
		return 0, fmt.Errorf("%w %q", errNoLine, pattern)
	}
	return sum, nil
}

// firstNumber returns the first number that the group of a pattern finds in a tool's output.
func firstNumber(text []byte, pattern *regexp.Regexp) (float64, error) {
	m := pattern.FindSubmatch(text)
	if m == nil {
		return 0, fmt.Errorf("no %q in %q", pattern, lastLines(text, 5))
	}
	return strconv.ParseFloat(string(m[1]), 64)
}

// recordingDone is the line that ringtap -v logs between recording and report.
var recordingDone = regexp.MustCompile(`"recording done".* user=(\S+) system=(\S+)`)

// recordingSeconds returns the CPU seconds that ringtap used until the end of the recording.
func recordingSeconds(log []byte) (float64, error) {
	m := recordingDone.FindSubmatch(log)
	if m == nil {
		return 0, errors.New("ringtap -v does not say what recording took (\"recording done\" user= system=)")
	}
	user, err := time.ParseDuration(string(m[1]))
	system, err2 := time.ParseDuration(string(m[2]))
	return (user + system).Seconds(), errors.Join(err, err2)
}
