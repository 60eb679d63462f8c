package perfdata

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"github.com/ringtap/ringtap/internal/testkit/perfrecord"
)

// Variables of the environment of TestPeerAKilledWritersRecordingIsRead's child: the file to
// write, and the level of compression.
const (
	endless      = "RINGTAP_TEST_WRITE_ENDLESSLY"
	endlessLevel = "RINGTAP_TEST_WRITE_LEVEL"
)

func TestMain(m *testing.M) {
	if path := os.Getenv(endless); path != "" {
		fmt.Fprintln(os.Stderr, writeEndlessly(path))
		os.Exit(1)
	}
	os.Exit(m.Run())
}

// writeEndlessly writes samples to a file and, after each Flush, how many there are to standard
// output.
func writeEndlessly(path string) error {
	level, err := strconv.Atoi(os.Getenv(endlessLevel))
	if err != nil {
		return err
	}
	w, err := Create(path, oneEvent(), WriteOptions{Info: Info{Hostname: "killedhost", Arch: "x86_64"}, Level: level})
	if err != nil {
		return err
	}
	random := rand.New(rand.NewPCG(1, 2))
	for n := 0; ; {
		for range random.IntN(20_000) {
			n++
			if err := w.Record(sample(uint64(n))); err != nil {
				return err
			}
		}
		if err := errors.Join(w.Round(), w.Flush()); err != nil {
			return err
		}
		fmt.Println(n)
	}
}

func TestPeerAKilledWritersRecordingIsRead(t *testing.T) {
	perfrecord.Need(t)
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	for i := range 20 {
		path := filepath.Join(t.TempDir(), "perf.data")
		flushed := kill(t, self, path, i%2, 1+rand.IntN(50))
		lines, f, stats := sampleLines(t, path)
		if len(lines) < flushed || f.Info.Hostname != "killedhost" && f.Info.Hostname != "" || stats.Cut {
			t.Errorf("%d samples of %d, %+v, %+v", len(lines), flushed, f.Info, stats)
		}
		out := perfrecord.Quietly(t, "script", "-F", "time,event", "-i", path)
		if n := strings.Count(out, "cpu-clock"); n != len(lines) {
			t.Errorf("perf script has %d samples, ringtap %d", n, len(lines))
		}
	}
}

// kill runs writeEndlessly, kills it when it has flushed so many times, and returns how many samples
// were flushed by then at least.
func kill(t *testing.T, self, path string, level, flushes int) int {
	t.Helper()
	cmd := exec.Command(self)
	cmd.Env = append(os.Environ(), endless+"="+path, endlessLevel+"="+strconv.Itoa(level))
	var stderr bytes.Buffer
	cmd.Stderr = &stderr
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	flushed, said := 0, bufio.NewScanner(out)
	for range flushes {
		if !said.Scan() {
			break
		}
		if flushed, err = strconv.Atoi(said.Text()); err != nil {
			t.Fatal(err)
		}
	}
	if err := cmd.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	for said.Scan() { // what it said before it died
		if n, err := strconv.Atoi(said.Text()); err == nil {
			flushed = n
		}
	}
	_ = cmd.Wait() // it was killed
	if stderr.Len() > 0 {
		t.Fatal(stderr.String())
	}
	return flushed
}

// A kill that comes between two writes is rare, so each is tried.
func TestPeerPerfReadsARecordingAfterEachWrite(t *testing.T) {
	perfrecord.Need(t)
	for _, level := range []int{0, 1} {
		var m memory
		w := toMemory(t, &m, WriteOptions{Info: Info{Hostname: "host"}, Level: level})
		m.states = m.states[len(m.states)-1:] // Create returns
		for n := range 5 {
			if err := errors.Join(w.Record(sample(uint64(n+1))), w.Round(), w.Flush()); err != nil {
				t.Fatal(err)
			}
		}
		if err := w.Close(writtenSections); err != nil {
			t.Fatal(err)
		}
		last := 0
		for i, b := range m.states {
			path := filepath.Join(t.TempDir(), "perf.data")
			if err := os.WriteFile(path, b, 0o600); err != nil {
				t.Fatal(err)
			}
			n := strings.Count(perfrecord.Quietly(t, "script", "-F", "time,event", "-i", path), "cpu-clock")
			if n < last || n > last+1 {
				t.Errorf("level %d: perf script has %d samples after write %d, %d before", level, n, i, last)
			}
			last = n
		}
		if last != 5 {
			t.Errorf("level %d: perf script has %d samples", level, last)
		}
	}
}
