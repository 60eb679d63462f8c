package profiler

import (
	"context"
	"log/slog"
	"os/exec"
	"strconv"
	"testing"
	"time"

	"github.com/ringtap/ringtap/internal/collect/oncpu"
	"github.com/ringtap/ringtap/internal/collect/table"
	"github.com/ringtap/ringtap/internal/profile"
	"github.com/ringtap/ringtap/internal/stack"
	"github.com/ringtap/ringtap/perfevent"
)

func TestLiveATargetThatIsGoneBeforeSamplingStartsEndsTheRun(t *testing.T) {
	needRoot(t)
	cmd := exec.Command("sleep", "60")
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	reports := 0
	r := &profiling{opts: Options{
		Collectors: []table.Collector{&oncpu.Collector{Event: perfevent.CPUClock(), Frequency: 49, Stacks: stack.Stacks{User: true, Unwind: stack.Auto}}},
		Whole:      true,
		Memory:     1 << 20,
		Logger:     slog.New(slog.DiscardHandler),
		Report:     func(*profile.Profile) error { reports++; return nil },
		Progress:   func(Progress) {},
	}}
	var err error
	if r.live, r.notes, err = open(perfevent.Process(cmd.Process.Pid), r.opts.Collectors, perfevent.Options{}); err != nil {
		t.Fatal(err)
	}
	defer closed(t, r.live)
	r.source = r.live
	if err := cmd.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	_ = cmd.Wait() // "signal: killed"
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	result, err := r.run(ctx)
	if err != nil {
		t.Fatal(err)
	}
	if ctx.Err() != nil || reports != 1 || len(result.Whole.Rows) != 0 {
		t.Errorf("%v, %d reports, rows %v; want one empty report", ctx.Err(), reports, result.Whole.Rows)
	}
}

// A command that was killed while it was held can't be let run: that is an
// error, and there is nothing to report.
func TestLiveACommandThatCantBeLetRunIsAnError(t *testing.T) {
	needRoot(t)
	command, err := perfevent.StartCommand(exec.Command("sleep", "60"))
	if err != nil {
		t.Fatal(err)
	}
	reports := 0
	opts := Options{
		Target:     perfevent.Started(command),
		Collectors: []table.Collector{&oncpu.Collector{Event: perfevent.CPUClock(), Frequency: 49}},
		Report:     func(*profile.Profile) error { reports++; return nil },
	}
	killed, err := exec.Command("sh", "-c", `kill -9 "$0"; while grep -q 'State:.*t (tracing' /proc/"$0"/status; do sleep 0.01; done`, strconv.Itoa(command.PID())).CombinedOutput()
	if err != nil {
		t.Fatalf("kill the command: %v\n%s", err, killed)
	}
	if _, err = Run(context.Background(), opts); err == nil || reports != 0 {
		t.Errorf("error %v, %d reports; want an error and none", err, reports)
	}
}
