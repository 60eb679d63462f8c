package main

import (
	"context"
	"errors"
	"fmt"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
)

// ioBlocks is how many blocks dd(1) reads, and writes.
const ioBlocks = 100_000

// ddSeconds is what dd says of itself.
var ddSeconds = regexp.MustCompile(`copied, ([0-9.e+-]+) s`)

// countMoved is io in bpftrace's language: bytes, calls and time by user stack.
const countMoved = `
tracepoint:syscalls:sys_enter_read, tracepoint:syscalls:sys_enter_write /pid == cpid/ { @begin[tid] = nsecs; }
tracepoint:syscalls:sys_exit_read, tracepoint:syscalls:sys_exit_write /@begin[tid]/ {
	@time[ustack] = sum(nsecs - @begin[tid]); @calls[ustack] = count(); @bytes[ustack] = sum(args->ret); delete(@begin[tid]);
}`

// io measures what each tool adds to a call of dd(1), whose reads and writes take
// the kernel hardly any time.
func (b *bench) io(ctx context.Context) ([]row, error) {
	program, err := exec.LookPath("dd") // bpftrace wants it unambiguous
	if err != nil {
		return nil, err
	}
	dd := []string{program, "if=/dev/zero", "of=/dev/null", "bs=512", "count=" + strconv.Itoa(ioBlocks)}
	perCall := func(tool ...string) (float64, error) {
		r, err := run(ctx, nil, tool[0], tool[1:]...)
		if err != nil {
			return 0, err
		}
		m := ddSeconds.FindSubmatch(r.stderr)
		if m == nil {
			return 0, fmt.Errorf("%s: dd does not say what it took: %s", tool[0], lastLines(r.stderr, 3))
		}
		seconds, err := strconv.ParseFloat(string(m[1]), 64)
		return seconds * 1e9 / (2 * ioBlocks), err
	}
	after := func(tool ...string) []string { return append(tool, dd...) }
	tools := []prober{
		{tool: "ringtap", args: after(b.ringtap, "io", "-u", "-i", "3600", "--out", filepath.Join(b.dir, "io.folded"), "--")},
		{tool: "bpftrace", missing: missing("bpftrace"), args: []string{"bpftrace", "-o", filepath.Join(b.dir, "io.bpftrace"), "-e", countMoved, "-c", strings.Join(dd, " ")}},
		{tool: "perf trace -s", missing: missing("perf"), args: after("perf", "trace", "-s", "-o", filepath.Join(b.dir, "io.perf"))},
		{tool: "strace -c -f", missing: missing("strace"), args: after("strace", "-c", "-f", "-o", filepath.Join(b.dir, "io.strace"))},
	}
	added := make([][]float64, len(tools))
	var failed error
	for range b.runs {
		base, err := perCall(dd...)
		if err != nil {
			return nil, err
		}
		for i, tool := range tools {
			if tool.missing != "" {
				continue
			}
			took, err := perCall(tool.args...)
			if err != nil {
				failed = errors.Join(failed, err)
				continue
			}
			added[i] = append(added[i], took-base)
		}
	}
	r := row{what: "a read or write of dd bs=512, by stack", unit: "ns", own: added[0]}
	var rows []row
	for i, tool := range tools[1:] {
		most := 1.0
		if i > 0 { // without stacks
			most = 0.5
		}
		rows = append(rows, r.against(tool.tool, tool.missing, added[1+i], most))
	}
	return rows, failed
}
