package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"
)

// guestArgument makes this program the half that measures in a guest. Its
// arguments are a name of guestMeasurements, --runs and --hits.
const guestArgument = "in-the-guest"

// emulated is what must be known of all that was measured in a guest.
const emulated = "measured in an emulated guest with one CPU whose clock counts instructions: a nanosecond is an instruction there"

// slower is how many times fewer calls a round in a guest has.
const slower = 20

// guestMeasurements are those that need kernel probes, which not every machine
// that develops has.
var guestMeasurements = map[string]func(*bench, context.Context, values) error{
	"kprobe":    (*bench).kprobeInGuest,
	"attach":    (*bench).attachInGuest,
	"funccount": (*bench).funccountInGuest,
}

// values are what a guest has measured: of each run, by what it is.
type values map[string][]float64

func (v values) add(what string, value float64) { v[what] = append(v[what], value) }

// inGuest boots a kernel with ringtap and the tools that it is compared with, and
// measures there.
func (b *bench) inGuest(ctx context.Context, kernel, measurement string) (values, error) {
	self := filepath.Join(b.dir, "bench")
	build := exec.CommandContext(ctx, "go", "build", "-o", self, "./scripts/bench")
	build.Env = append(build.Environ(), "CGO_ENABLED=0")
	if text, err := build.CombinedOutput(); err != nil {
		return nil, fmt.Errorf("build the guest's half: %w\n%s", err, text)
	}
	// bpftrace's compiler takes most of the memory: initramfs and running.
	args := []string{"--kernel", kernel, "--icount", "--cpus", "1", "--memory", "3072", "--ringtap", b.ringtap, "--file", self,
		"--timeout", time.Hour.String()}
	for _, tool := range []string{"perf", "bpftrace"} {
		if path, err := exec.LookPath(tool); err == nil {
			args = append(args, "--file", path)
		}
	}
	if b.perfTools != "" {
		args = append(args, "--file", filepath.Join(b.perfTools, "kernel")+":/work/perf-tools/kernel")
	}
	args = append(args, "--", "bench", guestArgument, measurement, strconv.Itoa(b.runs), strconv.Itoa(max(1, b.hits/slower)))
	r, err := run(ctx, nil, "scripts/vm", args...)
	if err != nil {
		return nil, err
	}
	var a answer
	if err := json.Unmarshal(r.stdout, &a); err != nil {
		return nil, fmt.Errorf("what the guest has measured: %w", err)
	}
	if a.Error != "" {
		err = fmt.Errorf("in the guest: %s", a.Error)
	}
	return a.Values, err
}

// answer is what the guest's half prints: what was measured until there was an
// error, if there was one.
type answer struct {
	Values values
	Error  string
}

// measureInGuest is the other half.
func measureInGuest(ctx context.Context, args []string) error {
	if len(args) != 3 || guestMeasurements[args[0]] == nil {
		return fmt.Errorf("%s wants a measurement, runs and hits, not %s", guestArgument, strings.Join(args, " "))
	}
	b := bench{ringtap: "ringtap"}
	if _, err := os.Stat("/work/perf-tools"); err == nil {
		b.perfTools = "/work/perf-tools"
	}
	var err error
	if b.runs, err = strconv.Atoi(args[1]); err != nil {
		return err
	}
	if b.hits, err = strconv.Atoi(args[2]); err != nil {
		return err
	}
	if b.dir, err = os.MkdirTemp("", "ringtap-bench"); err != nil {
		return err
	}
	defer os.RemoveAll(b.dir)
	a := answer{Values: values{}}
	if err := guestMeasurements[args[0]](&b, ctx, a.Values); err != nil {
		a.Error = err.Error()
	}
	return json.NewEncoder(os.Stdout).Encode(a)
}

// beside makes the rows of one quantity: ringtap's against each other tool's. The
// names in the values are TOOL: what.
func (v values) beside(what, unit string, targets map[string]float64) []row {
	r := row{what: what, unit: unit, own: v["ringtap: "+what]}
	var rows []row
	for _, tool := range sortedKeys(targets) {
		rows = append(rows, r.against(tool, missingInGuest(tool), v[tool+": "+what], targets[tool]))
	}
	return rows
}

func sortedKeys(m map[string]float64) []string {
	var keys []string
	for key := range m {
		keys = append(keys, key)
	}
	slices.Sort(keys)
	return keys
}

// missingInGuest says why a tool cannot run there: this machine's is brought along.
func missingInGuest(tool string) string {
	switch program, _, _ := strings.Cut(tool, " "); program {
	case "perf", "bpftrace":
		return missing(program)
	}
	return ""
}

// errNoPatch is that nothing of the kernel's code was replaced.
var errNoPatch = errors.New("no function has been traced within two minutes")
