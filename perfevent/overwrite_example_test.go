package perfevent_test

import (
	"fmt"
	"log"
	"os"
	"time"

	"github.com/ringtap/ringtap/perfevent"
)

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
