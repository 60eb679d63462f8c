package main

import (
	"testing"

	"github.com/spf13/pflag"
)

func TestTheDefaultFrequencyIsOneThatTheKernelAllows(t *testing.T) {
	for _, test := range []struct {
		name    string
		args    []string
		maxRate string
		want    uint64
	}{
		{"a host", nil, "100000\n", 49},
		{"a control group", []string{"-g", "a"}, "100000\n", 49},
		{"a process", []string{"-p", "7"}, "100000\n", 199},
		{"a thread", []string{"-t", "7"}, "100000\n", 199},
		{"an unknown limit", []string{"-p", "7"}, "", 199},
		{"as often as asked for", []string{"-p", "7", "-f", "99"}, "100000\n", 99},
		{"a kernel that allows less", []string{"-p", "7"}, "150\n", 150},
		{"a kernel that allows much less", nil, "25\n", 25},
		{"more than the kernel allows, which is refused later", []string{"-f", "300"}, "150\n", 300},
	} {
		var c collectorFlags
		flags := pflag.NewFlagSet("on-cpu", pflag.ContinueOnError)
		c.add(flags)
		if err := flags.Parse(test.args); err != nil {
			t.Fatal(err)
		}
		if c.setFrequency(flags, test.maxRate); c.frequency != test.want {
			t.Errorf("%s: %d Hz, want %d", test.name, c.frequency, test.want)
		}
	}
}
