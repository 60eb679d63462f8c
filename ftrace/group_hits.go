package ftrace

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
)

// errChanging is why the hits of a group could not be told from others'.
var errChanging = errors.New("probes come and go all the time")

// Hits returns how often each place of the group was hit, in the order in which
// Define and Add were called, whether or not perf or a filter wanted the hit. It
// is for groups of uprobe_events. The kernel counts exactly since Linux 6.11;
// before, CPUs that hit one place at the same time may count one of the hits.
func (g *Group) Hits() ([]uint64, error) {
	const tries = 100
	for range tries {
		hits, err := g.readHits()
		if !errors.Is(err, errChanging) {
			return hits, err
		}
	}
	return nil, fmt.Errorf("read the hits of %s: %w", g.Name(), errChanging)
}

// readHits reads the file uprobe_profile, which has the hits and not the group.
// Its lines are in the order of those of uprobe_events, which has the group.
func (g *Group) readHits() ([]uint64, error) {
	before, err := g.lines(g.file)
	if err != nil {
		return nil, err
	}
	profile, err := g.lines("uprobe_profile")
	if err != nil {
		return nil, err
	}
	after, err := g.lines(g.file)
	if err != nil {
		return nil, err
	}
	if len(profile) != len(before) || !bytes.Equal(bytes.Join(before, nil), bytes.Join(after, nil)) {
		return nil, errChanging
	}
	own := []byte(":" + g.Name() + "/")
	var hits []uint64
	for i, line := range before {
		// "p:group/event …": the first colon is that before the group.
		if colon := bytes.IndexByte(line, ':'); colon < 0 || !bytes.HasPrefix(line[colon:], own) {
			continue
		}
		fields := bytes.Fields(profile[i])
		if len(fields) == 0 {
			return nil, fmt.Errorf("read the hits of %s: an empty line", g.Name())
		}
		n, err := strconv.ParseUint(string(fields[len(fields)-1]), 10, 64)
		if err != nil {
			return nil, fmt.Errorf("read the hits of %s: %w", g.Name(), err)
		}
		hits = append(hits, n)
	}
	return hits, nil
}

// lines reads a file of tracefs.
func (g *Group) lines(file string) ([][]byte, error) {
	text, err := os.ReadFile(filepath.Join(g.fs.dir, file))
	if err != nil {
		return nil, fmt.Errorf("read the hits of %s: %w", g.Name(), err)
	}
	lines := bytes.Split(text, []byte("\n"))
	return lines[:len(lines)-1], nil
}
