package perfevent_test

import (
	"context"
	"errors"
	"fmt"
	"log"
	"os"
	"os/exec"
	"time"

	"github.com/ringtap/ringtap/perfevent"
)

// Every page fault of a command is a sample, and the books balance: what was received and
// what was lost is what the kernel counted.
func Example() {
	command, err := perfevent.StartCommand(exec.Command("sh", "-c", "exit 3"))
	check(err)
	faults := perfevent.Sampling{Event: perfevent.Software(perfevent.SoftwarePageFaults), Period: 1, ExcludeKernel: true}
	session, err := perfevent.Open(perfevent.Started(command), []perfevent.Sampling{faults}, perfevent.Options{})
	check(err)
	defer session.Close()
	check(session.Enable())
	samples := uint64(0)
	check(session.Read(context.Background(), func(record perfevent.Record) error {
		if _, ok := record.(*perfevent.Sample); ok {
			samples++
		}
		return nil
	}))
	state, err := command.Wait()
	check(err)
	accounts, err := session.Accounts()
	check(err)
	a := accounts[0]
	fmt.Println("the command:", state)
	fmt.Println(samples > 0, a.Received == samples, a.Received+a.Lost == a.Counted)
	// Output:
	// the command: exit status 3
	// true true true
}

func check(err error) {
	if err != nil {
		log.Fatal(err)
	}
}

// CPU time is sampled by hardware cycles where the machine has them, else by the clock.
func ExampleOpen() {
	sampling := perfevent.Sampling{Event: perfevent.CPUCycles(), Frequency: 999, ExcludeKernel: true}
	self := perfevent.Process(os.Getpid())
	session, err := perfevent.Open(self, []perfevent.Sampling{sampling}, perfevent.Options{})
	if errors.Is(err, perfevent.ErrNoEvent) {
		sampling.Event = perfevent.CPUClock()
		session, err = perfevent.Open(self, []perfevent.Sampling{sampling}, perfevent.Options{})
	}
	fmt.Println(err)
	check(session.Close())
	// Output: <nil>
}

// Records are decoded again from bytes, such as a file's. Here a session's are kept in
// memory.
func ExampleDecoder() {
	command, err := perfevent.StartCommand(exec.Command("sh", "-c", "exec true"))
	check(err)
	faults := perfevent.Sampling{Event: perfevent.Software(perfevent.SoftwarePageFaults), Period: 1, ExcludeKernel: true}
	session, err := perfevent.Open(perfevent.Started(command), []perfevent.Sampling{faults}, perfevent.Options{})
	check(err)
	defer session.Close()
	check(session.Enable())
	var captured []byte
	reader := perfevent.Reader{Raw: func(record []byte) { captured = append(captured, record...) }}
	check(reader.Read(context.Background(), session, func(perfevent.Record) error { return nil }))

	decoder, err := perfevent.NewDecoder(session.Events())
	check(err)
	for record, err := range decoder.Records(captured) {
		check(err)
		if r, ok := record.(*perfevent.Comm); ok && r.Exec {
			fmt.Printf("%s\n", r.Name)
		}
	}
	// Output: true
}

// Events of a PMU are named by the terms that its sysfs directory lists.
func ExampleDynamic() {
	_, err := perfevent.Dynamic("no_such_pmu", "event=1")
	fmt.Println(errors.Is(err, perfevent.ErrNoEvent))
	// Output: true
}

// What this process did in the second before it was asked.
func ExampleSession_OpenRecent() {
	samplings := []perfevent.Sampling{{Event: perfevent.CPUClock(), Frequency: 999, ExcludeKernel: true}}
	// Beside a session that is read all the time (here nothing is), for the records
	// about processes.
	session, err := perfevent.Open(perfevent.Process(os.Getpid()), samplings, perfevent.Options{Recent: true})
	if err != nil {
		log.Fatal(err)
	}
	defer session.Close()
	recent, err := session.OpenRecent(perfevent.RecentOptions{Keep: time.Second})
	if err != nil {
		log.Fatal(err)
	}
	defer recent.Close()
	if err := recent.Start(); err != nil {
		log.Fatal(err)
	}
	for begin := time.Now(); time.Since(begin) < 200*time.Millisecond; {
	}
	if err := recent.Stop(); err != nil {
		log.Fatal(err)
	}
	kept := recent.Read()
	since := kept.Span(perfevent.Now(), time.Second)
	samples := 0
	err = kept.Each(func(record perfevent.Record) error {
		if sample, ok := record.(*perfevent.Sample); ok && sample.Time >= since {
			samples++
		}
		return nil
	})
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println("samples were kept:", samples > 0)
	// Output: samples were kept: true
}
