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

// guestFlag is the flag with which this program runs inside a guest and measures there. Its
// value is an index in measurements.
const guestFlag = "in-the-guest"

// emulated is the note on everything that was measured in a guest.
const emulated = "measured in an emulated guest with one CPU whose clock counts instructions: a nanosecond is an instruction there"

// slower is the factor by which a round in a guest has fewer calls.
const slower = 20

// inGuest boots the kernel of measurements[number] in a guest, with ringtap and the tools that
// it is compared with, and measures there.
func (b *bench) inGuest(ctx context.Context, number int) (o outcome, err error) {
	self := filepath.Join(b.dir, "bench")
	build := exec.CommandContext(ctx, "go", "build", "-o", self, "./internal/dev/bench")
	build.Env = append(build.Environ(), "CGO_ENABLED=0")
	if text, err := build.CombinedOutput(); err != nil {
		return o, fmt.Errorf("build the guest's half: %w\n%s", err, text)
	}
	// bpftrace's compiler needs most of the memory, as a file in the initramfs and when it runs.
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

// answer is what the program in the guest prints: the outcome up to the first error, and
// this error, if there was one.
type answer struct {
	Outcome outcome
	Error   string
}

// measureInGuest runs inside the guest. It measures and prints an answer as JSON.
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
