package process

import (
	"errors"
	"os"
	"os/exec"
	"slices"
	"strconv"
	"strings"
	"testing"

	"golang.org/x/sys/unix"
)

func TestEachThreadIsAddedOnce(t *testing.T) {
	var added []string
	if err := (Host{}).AddThreads(os.Getpid(), func(lines string) error {
		added = append(added, strings.Split(lines, "\n")...)
		return nil
	}); err != nil {
		t.Fatal(err)
	}
	slices.Sort(added)
	if n := len(added); n == 0 || len(slices.Compact(added)) != n || !slices.Contains(added, strconv.Itoa(os.Getpid())) {
		t.Errorf("added %q", added)
	}
}

func TestAProcessThatHasEndedIsNone(t *testing.T) {
	ended := exec.Command("true")
	if err := ended.Run(); err != nil {
		t.Skip("true: ", err)
	}
	if err := (Host{}).AddThreads(ended.Process.Pid, func(string) error { return nil }); !errors.Is(err, unix.ESRCH) {
		t.Errorf("%v", err)
	}
}
