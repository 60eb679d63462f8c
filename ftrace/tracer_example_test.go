package ftrace_test

import (
	"fmt"
	"os"

	"github.com/ringtap/ringtap/ftrace"
)

// The function tracer in an instance of one's own: who calls vfs_read, until the
// first call.
func ExampleFS_NewInstance() {
	if err := firstRead(); err != nil {
		fmt.Fprintln(os.Stderr, "no function tracer here:", err)
	}
	// Output:
}

func firstRead() error {
	tracefs, err := ftrace.Find()
	if err != nil {
		return err
	}
	instance, err := tracefs.NewInstance()
	if err != nil {
		return err
	}
	defer instance.Close()
	if err := instance.Append("set_ftrace_filter", "vfs_read"); err != nil {
		return err
	}
	if err := instance.Write("current_tracer", "function"); err != nil {
		return err
	}
	pipe, err := instance.FS().OpenPipe()
	if err != nil {
		return err
	}
	defer pipe.Close() // before the instance
	for seen := false; !seen; {
		if _, err := pipe.Read(func(e, _ *ftrace.Entry) error {
			seen = true
			fmt.Fprintf(os.Stderr, "thread %d read on CPU %d\n", e.PID(), e.CPU)
			return nil
		}); err != nil {
			return err
		}
	}
	return nil
}
