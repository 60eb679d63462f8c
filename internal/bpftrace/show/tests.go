package show

import (
	"fmt"
	"io"
	"strconv"
	"strings"
	"time"
)

// Capture redirects the output, as text, to w until restore is called. If w is nil, the output is
// dropped.
func (p *Printer) Capture(w io.Writer) (restore func()) {
	p.write()
	out, json := p.out, p.JSON
	if w == nil {
		w = io.Discard
	}
	p.out, p.JSON = w, false
	return func() {
		p.write()
		p.out, p.JSON = out, json
	}
}

// Test prints the result of the test that ran last. all are the names of all tests, and passed the
// results so far. took and printed are the last test's duration and output.
func (p *Printer) Test(all []string, passed []bool, took time.Duration, printed string) {
	last := len(passed) - 1
	if p.JSON {
		p.buf = append(p.buf, `{"type": "test_result", "data": {`...)
		p.buf = append(quote(p.buf, []byte(all[last])), ": "...)
		p.buf = fmt.Appendf(p.buf, `{"duration": %d, "passed": %t, "output": `, took.Nanoseconds(), passed[last])
		p.buf = append(quote(p.buf, []byte(printed)), "}}}\n"...)
		p.done()
		return
	}
	if last == 0 {
		p.mark(green, "[==========]", fmt.Sprintf("Running %d tests.\n", len(all)))
	}
	p.mark(green, "[ RUN      ]", all[last]+"\n")
	u := timeUnit(took)
	result := fmt.Sprintf("%s (%d %s)\n", all[last], took/u.length, u.name)
	if passed[last] {
		p.mark(green, "[       OK ]", result)
	} else {
		for line := range strings.Lines(printed) {
			if line = strings.TrimSuffix(line, "\n"); line != "" {
				p.buf = append(append(p.buf, line...), '\n')
			}
		}
		p.mark(red, "[  FAILED  ]", result)
	}
	if len(passed) == len(all) {
		p.sum(all, passed)
	}
	p.done()
}

// sum prints how many tests passed, and which ones failed.
func (p *Printer) sum(all []string, passed []bool) {
	var wrong []string
	for i, name := range all {
		if !passed[i] {
			wrong = append(wrong, name)
		}
	}
	p.mark(green, "[==========]", tests(len(all))+" ran.\n")
	p.mark(green, "[  PASSED  ]", tests(len(all)-len(wrong))+".\n")
	if len(wrong) == 0 {
		return
	}
	p.mark(red, "[  FAILED  ]", tests(len(wrong))+", listed below:\n")
	for _, name := range wrong {
		p.mark(red, "[  FAILED  ]", name+"\n")
	}
}

func tests(n int) string {
	if n == 1 {
		return "1 test"
	}
	return strconv.Itoa(n) + " tests"
}

// The colors of marks. bpftrace uses them even in pipes.
const (
	green = "\x1b[32m"
	red   = "\x1b[31m"
)

func (p *Printer) mark(color, mark, text string) {
	p.buf = append(append(append(append(p.buf, color...), mark...), "\x1b[0m "...), text...)
}

// Benchmark prints the average time of bench probe i of all.
func (p *Printer) Benchmark(all []string, i int, average time.Duration, rounds int) {
	if p.JSON {
		p.buf = append(p.buf, `{"type": "benchmark_result", "data": {`...)
		p.buf = append(quote(p.buf, []byte(all[i])), ": "...)
		p.buf = fmt.Appendf(p.buf, "{\"average\": %d, \"iters\": %d}}}\n", average.Nanoseconds(), rounds)
		p.done()
		return
	}
	width := 40
	for _, name := range all {
		width = max(width, len(name))
	}
	if i == 0 {
		heading := fmt.Sprintf("%-*s%-15sIterations", width+1, "Benchmark", "Time(ns)")
		p.buf = fmt.Appendf(p.buf, "%s\n%s\n", heading, strings.Repeat("-", len(heading)))
	}
	p.buf = fmt.Appendf(p.buf, "%-*s%-15d%d\n", width+1, all[i], average.Nanoseconds(), rounds)
	p.done()
}
