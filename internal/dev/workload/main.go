// Command workload keeps two threads busy, with interesting stacks, for the time
// given (default: 8s), and then exits. One thread compresses; the other sorts and
// reads files.
package main

import (
	"compress/flate"
	"fmt"
	"io"
	"math/rand"
	"os"
	"sort"
	"sync"
	"time"
)

func main() {
	length := 8 * time.Second
	if len(os.Args) > 1 {
		var err error
		if length, err = time.ParseDuration(os.Args[1]); err != nil {
			fmt.Fprintln(os.Stderr, "workload:", err)
			os.Exit(2)
		}
	}
	end := time.Now().Add(length)
	var both sync.WaitGroup
	both.Go(func() { repeat(end, compress) })
	both.Go(func() { repeat(end, sortWords, readFiles) })
	both.Wait()
}

// repeat runs the jobs in turn until end.
func repeat(end time.Time, jobs ...func()) {
	for time.Now().Before(end) {
		for _, job := range jobs {
			job()
		}
	}
}

func compress() {
	text := make([]byte, 1<<16)
	for i := range text {
		text[i] = byte(rand.Intn(16))
	}
	w, err := flate.NewWriter(io.Discard, flate.BestCompression)
	if err != nil {
		return // cannot happen: the level is valid
	}
	w.Write(text)
	w.Close()
}

func sortWords() {
	words := make([]string, 2000)
	for i := range words {
		words[i] = fmt.Sprint(rand.Int())
	}
	sort.Strings(words)
}

func readFiles() {
	for range 100 {
		os.ReadFile("/proc/self/status")
	}
}
