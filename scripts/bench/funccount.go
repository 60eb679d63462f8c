package main

import (
	"context"
	"os"
	"path/filepath"

	"github.com/ringtap/ringtap/ftrace"
)

const (
	counted = "a call counted by funccount 'vfs_*'"
	profile = "nobpf" // the kernel with the function profiler
)

// funccount measures what counting a wildcard of functions adds to each call.
func (b *bench) funccount(ctx context.Context) (rows []row, err error) {
	for _, kernel := range []struct {
		name    string
		targets map[string]float64
	}{
		{"6.1", map[string]float64{"bpftrace": 1}},
		{profile, map[string]float64{perfToolsFunccount: 1}},
	} {
		v, err := b.inGuest(ctx, kernel.name, "funccount")
		if err != nil {
			return rows, err
		}
		for _, what := range []string{counted, elapsed(counted)} {
			of := v.beside(what, "ns", kernel.targets)
			for i := range of {
				of[i].what = kernel.name + ": " + of[i].what
				if b.perfTools == "" && kernel.name == profile {
					of[i].note, of[i].most = "PERF_TOOLS_DIR is not set", -1
				}
			}
			rows = append(rows, of...)
		}
	}
	rows[0].note = emulated
	return rows, err
}

// elapsed is the name of the same quantity with what the tool does meanwhile.
func elapsed(what string) string { return what + ", with the tool's own work" }

// funccountInGuest is its other half.
func (b *bench) funccountInGuest(ctx context.Context, v values) error {
	h, err := b.startHits(ctx)
	if err != nil {
		return err
	}
	defer h.stop()
	tools, unmount, err := b.countingTools()
	if err != nil {
		return err
	}
	defer unmount()
	for range b.runs {
		base, err := h.readRounds(b.hits)
		if err != nil {
			return err
		}
		for _, tool := range tools {
			took, _, err := b.readsUnder(ctx, h, "vfs_read", tool.args)
			if err != nil {
				return err
			}
			v.add(tool.name+": "+counted, took.own-base.own)
			v.add(tool.name+": "+elapsed(counted), took.elapsed-base.elapsed)
		}
	}
	return nil
}

// countingTool is a tool that counts the calls of functions.
type countingTool struct {
	name string
	args []string
}

// countingTools are those that the kernel of the guest has all for. The function
// returned puts back what they need.
func (b *bench) countingTools() (tools []countingTool, putBack func(), err error) {
	putBack = func() {}
	tracefs, _, err := ftrace.Mount()
	if err != nil {
		return nil, putBack, err
	}
	tools = append(tools, countingTool{"ringtap", []string{b.ringtap, "funccount", "vfs_*"}})
	if exists("/sys/kernel/btf/vmlinux") && missing("bpftrace") == "" {
		tools = append(tools, countingTool{"bpftrace", []string{"bpftrace", "-e", "kprobe:vfs_* { @[func] = count(); }"}})
	}
	if exists(filepath.Join(tracefs.Dir(), "function_profile_enabled")) && b.perfTools != "" {
		tools = append(tools, countingTool{perfToolsFunccount, []string{"bash", filepath.Join(b.perfTools, "kernel", "funccount"), "vfs_*"}})
		putBack, err = mountDebugfs()
	}
	return tools, putBack, err
}

const perfToolsFunccount = "perf-tools' funccount"

func exists(path string) bool {
	_, err := os.Stat(path)
	return err == nil
}
