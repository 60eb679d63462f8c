package ftrace

import (
	"bufio"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"golang.org/x/sys/unix"
)

// Pipe takes records out of a trace buffer as they come, in the order of time
// over all CPUs. Its methods are for one goroutine.
//
// It reads the pages of per_cpu/cpuN/trace_pipe_raw and not the text of
// trace_pipe. For that there are four reasons. The kernel looks up two symbols
// and prints some ninety bytes for each record of 28, a page of text for each
// system call: of 150,000 calls of vfs_read by dd bs=1, on an emulated Linux 6.1
// with two CPUs, cat(1) of trace_pipe lost 54,810 and took 49 s of CPU; ringtap
// functrace lost none and took 20. The name of a task may hold a line break, which
// in the text looks like the end of a line. A page says how many records are
// missing before it, and where. And what is not shown need not be printed first.
type Pipe struct {
	fs     *FS
	layout pageLayout
	cpus   []*cpuPipe
	// seen is the latest time that was read before the present round.
	seen uint64
}

// cpuPipe is one CPU's part of the buffer.
type cpuPipe struct {
	cpu     int
	fd      int
	entries []Entry // read and not yet handed on
	latest  uint64  // time that was read
}

// maxPages is how many pages of a CPU are read before another CPU has its turn.
const maxPages = 256

// OpenPipe starts to take records out of the trace buffer of an instance, or of
// tracefs itself, where they are everyone's. The caller must close the pipe,
// that of an instance before the instance.
func (t *FS) OpenPipe() (*Pipe, error) {
	text, err := t.headerPage()
	if err != nil {
		return nil, fmt.Errorf("read the trace buffer: %w", err)
	}
	layout, err := parsePageLayout(text)
	if err != nil {
		return nil, fmt.Errorf("read the trace buffer: %w", err)
	}
	dirs, err := filepath.Glob(filepath.Join(t.dir, "per_cpu", "cpu[0-9]*"))
	if err == nil && len(dirs) == 0 {
		err = fmt.Errorf("no CPU in %s", filepath.Join(t.dir, "per_cpu"))
	}
	if err != nil {
		return nil, fmt.Errorf("read the trace buffer: %w", err)
	}
	p := &Pipe{fs: t, layout: layout}
	for _, dir := range dirs {
		cpu, err := strconv.Atoi(strings.TrimPrefix(filepath.Base(dir), "cpu"))
		if err != nil {
			continue
		}
		path := filepath.Join(dir, "trace_pipe_raw")
		fd, err := unix.Open(path, unix.O_RDONLY|unix.O_NONBLOCK|unix.O_CLOEXEC, 0)
		if err != nil {
			p.Close()
			return nil, fmt.Errorf("read the trace buffer: %w", &os.PathError{Op: "open", Path: path, Err: err})
		}
		p.cpus = append(p.cpus, &cpuPipe{cpu: cpu, fd: fd})
	}
	slices.SortFunc(p.cpus, func(a, b *cpuPipe) int { return a.cpu - b.cpu })
	return p, nil
}

// headerPage reads events/header_page, which only tracefs itself has in some
// kernels.
func (t *FS) headerPage() (string, error) {
	text, err := t.read("events/header_page")
	if errors.Is(err, os.ErrNotExist) {
		text, err = At(filepath.Dir(filepath.Dir(t.dir))).read("events/header_page")
	}
	return text, err
}

// Close ends the reading.
func (p *Pipe) Close() error {
	for _, c := range p.cpus {
		unix.Close(c.fd)
	}
	p.cpus = nil
	return nil
}

// Read reads what is in the buffer and hands on what was there at the time of
// the call before: of that it is known that nothing earlier comes any more. next
// is the record after e on the same CPU, or nil if there is none yet. Both are
// good until hand returns; its error ends Read. More says that much has come,
// so that the next call should not wait.
func (p *Pipe) Read(hand func(e, next *Entry) error) (more bool, err error) {
	safe, latest := p.seen, p.seen
	for _, c := range p.cpus {
		pages, err := c.read(p.layout, maxPages)
		if err != nil {
			return false, fmt.Errorf("read the trace buffer of CPU %d: %w", c.cpu, err)
		}
		latest = max(latest, c.latest)
		if pages == maxPages {
			more = true
			safe = min(safe, c.latest) // the CPU has more
		}
	}
	p.seen = latest
	return more, p.hand(safe, hand)
}

// Drain hands on all that is left in the buffer. Nothing may be traced into it
// any more.
func (p *Pipe) Drain(hand func(e, next *Entry) error) error {
	for {
		more, err := p.Read(hand)
		if err != nil {
			return err
		}
		if !more {
			return p.hand(^uint64(0), hand)
		}
	}
}

// DrainUntil hands on all that was recorded up to a time of the buffer's trace_clock, which is
// past. What came later stays for the next call: it may be records of the reading itself.
func (p *Pipe) DrainUntil(until uint64, hand func(e, next *Entry) error) error {
	for _, c := range p.cpus {
		for pages := 1; pages > 0 && c.latest <= until; {
			var err error
			if pages, err = c.read(p.layout, 1); err != nil {
				return fmt.Errorf("read the trace buffer of CPU %d: %w", c.cpu, err)
			}
		}
	}
	return p.hand(until, hand)
}

// hand hands on the records up to a time, the earliest first.
func (p *Pipe) hand(until uint64, hand func(e, next *Entry) error) error {
	at := make([]int, len(p.cpus)) // the first that is not handed on
	defer func() {
		for i, c := range p.cpus {
			c.entries = slices.Delete(c.entries, 0, at[i])
		}
	}()
	for {
		first := -1
		for i, c := range p.cpus {
			if at[i] < len(c.entries) && c.entries[at[i]].Time <= until &&
				(first < 0 || c.entries[at[i]].Time < p.cpus[first].entries[at[first]].Time) {
				first = i
			}
		}
		if first < 0 {
			return nil
		}
		entries := p.cpus[first].entries[at[first]:]
		at[first]++
		var next *Entry
		if len(entries) > 1 {
			next = &entries[1]
		}
		if err := hand(&entries[0], next); err != nil {
			return err
		}
	}
}

// read reads the pages that are there, up to so many.
func (c *cpuPipe) read(layout pageLayout, most int) (pages int, err error) {
	for ; pages < most; pages++ {
		page := make([]byte, layout.size) // its records stay in use
		n, err := unix.Read(c.fd, page)
		switch {
		case err == unix.EINTR:
			continue
		case err == unix.EAGAIN || err == nil && n == 0:
			return pages, nil
		case err != nil:
			return pages, err
		}
		c.entries, err = layout.appendPage(c.entries, page[:n], c.cpu)
		if err != nil {
			return pages, err
		}
		if n := len(c.entries); n > 0 {
			c.latest = max(c.latest, c.entries[n-1].Time)
		}
	}
	return pages, nil
}

// Lost is how many records the buffer has lost since it was last cleared:
// overwritten before they were read, or without room (the files
// per_cpu/cpuN/stats).
func (p *Pipe) Lost() (uint64, error) {
	var lost uint64
	for _, c := range p.cpus {
		stats, err := p.fs.bufferStats(c.cpu)
		if err != nil {
			return 0, err
		}
		lost += stats["overrun"] + stats["dropped events"]
	}
	return lost, nil
}

// bufferStats reads the numbers of a CPU's trace buffer, by the kernel's names.
func (t *FS) bufferStats(cpu int) (map[string]uint64, error) {
	file, err := os.Open(filepath.Join(t.dir, "per_cpu", fmt.Sprintf("cpu%d", cpu), "stats"))
	if err != nil {
		return nil, fmt.Errorf("read the trace buffer's counts: %w", err)
	}
	defer file.Close()
	stats := map[string]uint64{}
	lines := bufio.NewScanner(file)
	for lines.Scan() {
		name, value, _ := strings.Cut(lines.Text(), ": ")
		if n, err := strconv.ParseUint(strings.TrimSpace(value), 10, 64); err == nil {
			stats[name] = n
		}
	}
	return stats, lines.Err()
}
