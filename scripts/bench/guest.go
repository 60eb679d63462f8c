package main

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"time"
)

// guestFlag makes this program the half that measures in a guest: the measurement of
// this number.
const guestFlag = "in-the-guest"

// emulated is what must be known of all that was measured in a guest.
const emulated = "measured in an emulated guest with one CPU whose clock counts instructions: a nanosecond is an instruction there"

// slower is how many times fewer calls a round in a guest has.
const slower = 20

// inGuest boots the kernel of a measurement with ringtap and the tools that it is
// compared with, and measures there.
func (b *bench) inGuest(ctx context.Context, number int) (o outcome, err error) {
	self := filepath.Join(b.dir, "bench")
	build := exec.CommandContext(ctx, "go", "build", "-o", self, "./scripts/bench")
	build.Env = append(build.Environ(), "CGO_ENABLED=0")
	if text, err := build.CombinedOutput(); err != nil {
		return o, fmt.Errorf("build the guest's half: %w\n%s", err, text)
	}
	// bpftrace's compiler takes most of the memory: initramfs and running.
	args := []string{"--kernel", measurements[number].kernel, "--icount", "--cpus", "1", "--memory", "3072", "--ringtap", b.ringtap, "--file", self,
		"--timeout", time.Hour.String()}
	for _, tool := range []string{"perf", "bpftrace"} {
		if path, err := exec.LookPath(tool); err == nil {
			args = append(args, "--file", path)
		}
	}
	perfTools := ""
	if b.perfTools != "" {
		perfTools = "/work/perf-tools"
		args = append(args, "--file", filepath.Join(b.perfTools, "kernel")+":"+perfTools+"/kernel")
	}
	args = append(args, "--", "env", "PERF_TOOLS_DIR="+perfTools, "bench", fmt.Sprintf("--%s=%d", guestFlag, number),
		"--ringtap=ringtap", fmt.Sprintf("--runs=%d", b.runs), fmt.Sprintf("--hits=%d", max(1, b.hits/slower)))
	r, err := run(ctx, nil, "scripts/vm", args...)
	if err != nil {
		return o, err
	}
	var a answer
	if err := json.Unmarshal(r.stdout, &a); err != nil {
		return o, fmt.Errorf("what the guest has measured: %w", err)
	}
	if a.Error != "" {
		err = fmt.Errorf("in the guest: %s", a.Error)
	}
	return a.Outcome, err
}

// answer is what the guest's half prints: what was measured until there was an
// error, if there was one.
type answer struct {
	Outcome outcome
	Error   string
}

// measureInGuest is the other half.
func (b *bench) measureInGuest(ctx context.Context, number int) error {
	if number >= len(measurements) {
		return fmt.Errorf("there is no measurement %d", number)
	}
	var a answer
	var err error
	if a.Outcome, err = b.measure(ctx, measurements[number]); err != nil {
		a.Error = err.Error()
	}
	return json.NewEncoder(os.Stdout).Encode(a)
}
