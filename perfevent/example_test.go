package perfevent_test

import (
	"context"
	"errors"
	"fmt"
	"log"
	"os/exec"

	"github.com/ringtap/ringtap/perfevent"
)

// A command's user-mode CPU samples, as an ordinary user may take them: with
// hardware cycles where the machine has them, else with the CPU clock.
func Example() {
	command, err := perfevent.StartCommand(exec.Command("sh", "-c", "i=0; while [ $i -lt 100000 ]; do i=$((i+1)); done; exit 3"))
	if err != nil {
		log.Fatal(err)
	}
	sampling := perfevent.Sampling{
		Event:         perfevent.CPUCycles(),
		Frequency:     999,
		ExcludeKernel: true,
		Callchain:     perfevent.CallchainMode{User: true},
	}
	target := perfevent.Started(command)
	session, err := perfevent.Open(target, []perfevent.Sampling{sampling}, perfevent.Options{})
	if errors.Is(err, perfevent.ErrNoEvent) {
		sampling.Event = perfevent.CPUClock()
		session, err = perfevent.Open(target, []perfevent.Sampling{sampling}, perfevent.Options{})
	}
	if err != nil {
		command.Kill()
		log.Fatal(err)
	}
	defer session.Close()
	if err := session.Enable(); err != nil {
		log.Fatal(err)
	}

	samples := uint64(0)
	err = session.Read(context.Background(), func(rec perfevent.Record) error {
		if s, ok := rec.(*perfevent.Sample); ok && len(s.Callchain) > 0 {
			samples++
		}
		return nil
	})
	if err != nil {
		log.Fatal(err)
	}
	state, err := command.Wait()
	if err != nil {
		log.Fatal(err)
	}
	accounts, err := session.Accounts()
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println("some samples:", samples > 0, "all accounted for:", accounts[0].Received == samples)
	fmt.Println("the command:", state)
	// On a host that permits it this prints
	//	some samples: true all accounted for: true
	//	the command: exit status 3
}

// Events of a PMU are named by the terms that its sysfs directory lists.
func ExampleDynamic() {
	_, err := perfevent.Dynamic("no_such_pmu", "event=1")
	fmt.Println(errors.Is(err, perfevent.ErrNoEvent))
	// Output: true
}
