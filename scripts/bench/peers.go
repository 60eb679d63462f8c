package main

import (
	"context"
	"fmt"
	"os"
	"os/exec"
)

// perfProbe is an event that perf probe has made on a function, to be removed by
// remove.
type perfProbe struct{ group, name string }

// event is how perf's other commands name it.
func (p perfProbe) event() string { return p.group + ":" + p.name }

// addPerfProbe makes an event, whose name is no other process's, on a function of
// an object, or of the kernel where that is "".
func (b *bench) addPerfProbe(ctx context.Context, object, function string) (perfProbe, error) {
	p := perfProbe{group: fmt.Sprintf("bench_%d", os.Getpid()), name: function}
	args := []string{"probe", "-q"}
	if object != "" {
		args = append(args, "-x", object)
	}
	_, err := run(ctx, nil, "perf", append(args, "--add", p.event()+"="+function)...)
	return p, err
}

// remove removes the event, even where the context has ended.
func (p perfProbe) remove() error {
	_, err := run(context.Background(), nil, "perf", "probe", "-q", "-d", p.event())
	return err
}

// missing says why a program cannot run: "" if it can.
func missing(program string) string {
	if _, err := exec.LookPath(program); err != nil {
		return program + " is not installed"
	}
	return ""
}
