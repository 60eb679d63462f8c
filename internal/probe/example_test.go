package probe_test

import (
	"fmt"
	"log"

	"github.com/ringtap/ringtap/internal/probe"
)

// What a spec means is known before anything is opened.
func ExampleParse() {
	for _, text := range []string{"libc:malloc", "r:vfs_read $retval", "t:sched:sched_switch"} {
		spec, err := probe.Parse(text, probe.View{})
		if err != nil {
			log.Fatal(err)
		}
		where := map[probe.Place]string{probe.User: "user", probe.Kernel: "kernel", probe.Tracepoint: "tracepoint"}[spec.Place]
		fmt.Printf("%s: %c at %s, %d arguments\n", where, spec.Kind, spec.Probe, spec.Arguments)
	}
	// Output:
	// user: p at libc:malloc, 0 arguments
	// kernel: r at vfs_read $retval, 1 arguments
	// tracepoint: t at sched:sched_switch, 0 arguments
}
