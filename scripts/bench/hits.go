package main

import (
	"context"
	_ "embed"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
	"time"
)

//go:embed testdata/hits.c
var hitsSource []byte

// hitsName is the program's name, by which its stacks are told from those of
// other processes.
const hitsName = "bench-hits"

// settle is how long a tool is left alone once its probe is in place: the
// instruction is replaced before the events count.
const settle = 500 * time.Millisecond

// hits is a program that calls malloc and free, or a64l, when it is told to.
// testdata/hits.c says what it takes and answers.
type hits struct {
	*partner
	libc string // path of its libc
}

// startHits compiles and starts the program, on the last CPU. The caller ends
// it by stop.
func (b *bench) startHits(ctx context.Context) (*hits, error) {
	source, program := filepath.Join(b.dir, hitsName+".c"), filepath.Join(b.dir, hitsName)
	if err := os.WriteFile(source, hitsSource, 0o600); err != nil {
		return nil, err
	}
	// Frame pointers, so that the tools that walk by them find the whole stack.
	if _, err := run(ctx, nil, "gcc", "-O2", "-fno-builtin", "-fno-omit-frame-pointer",
		"-fno-optimize-sibling-calls", "-o", program, source, "-ldl"); err != nil {
		return nil, err
	}
	partner, err := startPartner(ctx, program, strconv.Itoa(runtime.NumCPU()-1))
	if err != nil {
		return nil, err
	}
	h := &hits{partner: partner}
	if h.libc, err = h.answer(); err != nil {
		h.stop()
		return nil, err
	}
	return h, nil
}

func (h *hits) pid() int { return h.cmd.Process.Pid }

// say sends a command.
func (h *hits) say(command string) error {
	if _, err := io.WriteString(h.in, command+"\n"); err != nil {
		return fmt.Errorf("tell %s what to do: %w", hitsName, err)
	}
	return nil
}

// askNumber sends a command and returns the answer.
func (h *hits) askNumber(command string) (int64, error) {
	if err := h.say(command); err != nil {
		return 0, err
	}
	return h.number()
}

func (h *hits) number() (int64, error) {
	text, err := h.answer()
	if err != nil {
		return 0, err
	}
	n, err := strconv.ParseInt(text, 10, 64)
	if err != nil {
		return 0, fmt.Errorf("%s answers %q: %w", hitsName, text, err)
	}
	return n, nil
}

func (h *hits) answer() (string, error) {
	line, err := h.out.ReadString('\n')
	if err != nil {
		return "", fmt.Errorf("read what %s says: %w", hitsName, err)
	}
	return strings.TrimSuffix(line, "\n"), nil
}

// run calls malloc and free n times and returns the nanoseconds of one round of
// both.
func (h *hits) run(n int) (float64, error) {
	took, err := h.askNumber(fmt.Sprintf("run %d", n))
	return float64(took) / float64(n), err
}

// rounds returns the median of three runs.
func (h *hits) rounds(n int) (float64, error) {
	var each []float64
	for range 3 {
		took, err := h.run(n)
		if err != nil {
			return 0, err
		}
		each = append(each, took)
	}
	return median(each), nil
}

// await waits until there is a probe on one of the functions, or none.
func (h *hits) await(ctx context.Context, probed bool) error {
	limit := time.Now().Add(time.Minute)
	for time.Now().Before(limit) {
		switch state, err := h.askNumber("probed"); {
		case err != nil:
			return err
		case (state == 1) == probed:
			return nil
		}
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-time.After(5 * time.Millisecond):
		}
	}
	if probed {
		return errors.New("no probe has come within a minute")
	}
	return errors.New("a probe, perhaps somebody else's, has been on malloc, free or a64l for a minute")
}

// ticks returns the number of calls that the command "tick" has come to. It ends
// early if the tool does.
func (h *hits) ticks(tool *background) (uint64, error) {
	defer context.AfterFunc(tool.done, func() { _ = h.say("") })()
	n, err := h.number()
	return uint64(n), err
}

// at returns when a call of the last ticks was, on the clock of monotonic.
func (h *hits) at(call uint64) (time.Duration, error) {
	n, err := h.askNumber(fmt.Sprintf("at %d", call))
	return time.Duration(n), err
}
