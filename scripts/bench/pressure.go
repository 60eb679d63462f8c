package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"runtime"
	"strconv"
	"syscall"
	"time"

	"golang.org/x/sys/unix"

	"github.com/ringtap/ringtap/internal/pressure"
)

// pressure measures how long it takes from an alarm of pressure until events are
// recorded, and until one is: that depends on when the program is let run.
func (b *bench) pressure(ctx context.Context) ([]row, error) {
	const what = "from an alarm of pressure until events are on"
	const first = "from an alarm of pressure to the first event"
	group, end, err := squeezed()
	if err != nil {
		return []row{{what: what, unit: "ms", most: -1, note: err.Error()}}, nil
	}
	defer end()
	reader := exec.CommandContext(ctx, "taskset", "-c", strconv.Itoa(runtime.NumCPU()-1), "dd", "if=/dev/zero", "of=/dev/null", "bs=4096")
	reader.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: unix.SIGKILL}
	if err := reader.Start(); err != nil {
		return nil, err
	}
	defer func() {
		_ = reader.Process.Kill()
		_ = reader.Wait()
	}()
	const before = ", with --before 5"
	rows := []row{{what: what}, {what: first}, {what: what + before}, {what: first + before}}
	for i := range rows {
		rows[i].unit, rows[i].most = "ms", -1
	}
	for range b.runs {
		for i, more := range [][]string{nil, {"--before", "5"}} {
			on, seen, err := b.reaction(ctx, reader.Process.Pid, group, more)
			if err != nil {
				return rows, err
			}
			rows[2*i].own, rows[2*i+1].own = append(rows[2*i].own, on), append(rows[2*i+1].own, seen)
		}
	}
	return rows, nil
}

// squeezed makes a control group of two programs that share CPU 0. The error says
// what is missing for that.
func squeezed() (group string, end func(), err error) {
	var fs unix.Statfs_t
	for _, mount := range []string{"/sys/fs/cgroup", "/sys/fs/cgroup/unified"} {
		if err := unix.Statfs(mount, &fs); err == nil && fs.Type == unix.CGROUP2_SUPER_MAGIC {
			group = filepath.Join(mount, fmt.Sprintf("bench-%d", os.Getpid()))
		}
	}
	if group == "" {
		return "", nil, errors.New("no cgroup2 file system")
	}
	if err := os.Mkdir(group, 0o755); err != nil {
		return "", nil, err
	}
	var burning []*exec.Cmd
	end = func() {
		for _, cmd := range burning {
			_ = cmd.Process.Kill()
			_ = cmd.Wait()
		}
		_ = os.Remove(group)
	}
	for range 2 {
		cmd := exec.Command("taskset", "-c", "0", "sh", "-c", "while :; do :; done")
		cmd.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: unix.SIGKILL}
		if err := cmd.Start(); err != nil {
			end()
			return "", nil, err
		}
		burning = append(burning, cmd)
		if err := os.WriteFile(filepath.Join(group, "cgroup.procs"), []byte(strconv.Itoa(cmd.Process.Pid)), 0); err != nil {
			end()
			return "", nil, err
		}
	}
	return group, end, nil
}

// reacted is what ringtap says of an alarm and the first event after it.
var reacted = regexp.MustCompile(`msg=alarm name="[^"]*" at=(\d+) took=(\S+)\n.*msg="first event" at=(\d+)`)

// reaction returns the milliseconds from one alarm until events are on, and to the
// first.
func (b *bench) reaction(ctx context.Context, reader int, group string, more []string) (on, seen float64, err error) {
	trigger := pressure.Trigger{Resource: "cpu", Place: group, Threshold: 100 * time.Millisecond, Window: 2 * time.Second}
	args := append([]string{"probe", "--count", "-u", "-v", "-i", "0.2", "-p", strconv.Itoa(reader), "-T", trigger.String(), "t:syscalls:sys_enter_read"}, more...)
	tool, err := launch(ctx, nil, b.ringtap, args...)
	if err != nil {
		return 0, 0, err
	}
	alarms, err := alarmsWithin(ctx, trigger, 9*time.Second)
	_, ended := tool.stop()
	if err := errors.Join(err, ended); err != nil {
		return 0, 0, err
	}
	for _, m := range reacted.FindAllStringSubmatch(tool.stderr.String(), -1) {
		told, atErr := strconv.ParseInt(m[1], 10, 64)
		took, tookErr := time.ParseDuration(m[2])
		first, firstErr := strconv.ParseInt(m[3], 10, 64)
		if err := errors.Join(atErr, tookErr, firstErr); err != nil {
			return 0, 0, err
		}
		// Of ringtap's first alarm the trigger of the bench may not know.
		for i := len(alarms) - 1; i >= 0; i-- {
			if late := first - alarms[i]; late >= 0 && late < int64(time.Second) {
				return float64(told+int64(took)-alarms[i]) / 1e6, float64(late) / 1e6, nil
			}
		}
	}
	return 0, 0, tool.failed(fmt.Errorf("no event follows one of the %d alarms", len(alarms)))
}

// alarmsWithin notes when the kernel says that a trigger has fired.
func alarmsWithin(ctx context.Context, trigger pressure.Trigger, limit time.Duration) (alarms []int64, err error) {
	ctx, cancel := context.WithTimeout(ctx, limit)
	defer cancel()
	m, err := pressure.Open(trigger)
	if err != nil {
		return nil, err
	}
	defer m.Close()
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	before, err := unix.SchedGetAttr(0, 0)
	if err != nil {
		return nil, err
	}
	if unix.SchedSetAttr(0, &unix.SchedAttr{Size: unix.SizeofSchedAttr, Policy: unix.SCHED_FIFO, Priority: 1}, 0) == nil {
		defer unix.SchedSetAttr(0, before, 0)
	}
	for m.Wait(ctx) == nil {
		alarms = append(alarms, int64(monotonic()))
	}
	return alarms, nil
}
