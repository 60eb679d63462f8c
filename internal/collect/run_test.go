package collect_test

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"slices"
	"testing"

	"github.com/ringtap/ringtap/internal/cli/target"
	"github.com/ringtap/ringtap/internal/collect"
	"github.com/ringtap/ringtap/internal/stack"
)

func TestWithoutAKindOfStackBothAreMade(t *testing.T) {
	for _, test := range []struct{ user, kernel, wantUser, wantKernel bool }{
		{false, false, true, true}, {true, false, true, false}, {false, true, false, true}, {true, true, true, true},
	} {
		run := collect.Run{User: test.user, Kernel: test.kernel, Unwind: stack.Auto}
		if got := run.Stacks(); got.User != test.wantUser || got.Kernel != test.wantKernel || got.Unwind != stack.Auto {
			t.Errorf("%+v: %+v", test, got)
		}
	}
}

func TestWhatWasOpenedLastIsClosedFirst(t *testing.T) {
	var order []string
	var said bytes.Buffer
	run := collect.Run{Target: &target.Target{PIDs: []int{3}}, Stderr: &said}
	failure := errors.New("busy")
	run.Closing(func() error { order = append(order, "events"); return failure })
	run.Say(func(w io.Writer) { fmt.Fprint(w, "lost 3") })
	run.Closing(func() error { order = append(order, "files"); return nil })
	if err := run.Close(); !errors.Is(err, failure) || !slices.Equal(order, []string{"files", "events"}) || said.String() != "lost 3" {
		t.Errorf("%v, %q, %q", err, order, said.String())
	}
	if got := run.Processes(); !slices.Equal(got, []int{3}) {
		t.Errorf("the processes are %v", got)
	}
}
