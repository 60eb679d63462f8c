package process_test

import (
	"fmt"
	"os"

	"github.com/ringtap/ringtap/internal/process"
)

func Example() {
	table := process.NewTable(process.Options{Host: process.Host{Proc: "testdata/proc"}})
	defer table.Close()
	// A perfevent.Session records from here on.
	if err := table.Snapshot(); err != nil {
		fmt.Fprintln(os.Stderr, err)
		return
	}
	// Its records go to table.Handle; at a sample:
	p := table.Process(4242)
	m, ok := p.Find(0x400123)
	if !ok {
		return
	}
	o := table.Objects()[m.Object]
	fmt.Printf("%s[%d, %d in its namespace] in %s\n", p.Comm, p.PID, p.NSPID, p.Cgroup)
	fmt.Printf("runs %s at file offset %#x\n", o.Path, 0x400123-m.Start+m.Offset)
	// Output:
	// nginx[4242, 1 in its namespace] in /system.slice/docker-0123.scope
	// runs /usr/sbin/nginx at file offset 0x123
}
