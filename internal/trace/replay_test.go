package trace

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"regexp"
	"strings"
	"testing"

	"github.com/ringtap/ringtap/internal/engine"
	"github.com/ringtap/ringtap/internal/engine/capture"
	"github.com/ringtap/ringtap/internal/probe"
	"github.com/ringtap/ringtap/internal/stack"
	"github.com/ringtap/ringtap/perfevent"
)

// followed is what follows a capture.
func followed(t *testing.T, source engine.Source, o Options) (Account, error) {
	t.Helper()
	f, err := newFollower(o)
	if err != nil {
		t.Fatal(err)
	}
	return f.follow(context.Background(), source)
}

// The program calls work 40 times, with 0 to 39.
func TestACaptureShowsALineForEachCall(t *testing.T) {
	source := capture.Open(t, "lines")
	var out bytes.Buffer
	armed := false
	account, err := followed(t, source, Options{Sources: source.Sources(t), Out: &out, Armed: func() { armed = true },
		Stacks: stack.Stacks{User: true, Unwind: stack.Auto, Entry: true}})
	if err != nil || !armed {
		t.Fatalf("%v, armed: %t", err, armed)
	}
	lines := strings.SplitAfter(out.String(), "\n")
	const each = 6 // the line, the heading, and four frames
	if len(lines) != 40*each+1 {
		t.Fatalf("%d lines:\n%s", len(lines), out.String())
	}
	last := ""
	for i := range 40 {
		call := lines[i*each:]
		pattern := fmt.Sprintf(`^ +known-%d +\[\d+\] .* (\d+\.\d+): work.*arg1=0x%x\n$`, source.Processes()[0], i)
		match := regexp.MustCompile(pattern).FindStringSubmatch(call[0])
		if match == nil || match[1] < last {
			t.Fatalf("call %d is %q after %s, want %s", i, call[0], last, pattern)
		}
		last = match[1]
		if !strings.HasSuffix(call[1], "<user stack trace>\n") {
			t.Errorf("the heading is %q", call[1])
		}
		for j, name := range []string{"work", "calls", "begin", "_start"} {
			if !strings.HasPrefix(call[2+j], " => "+name+"+0x") || !strings.HasSuffix(call[2+j], " ("+capture.Program+")\n") {
				t.Errorf("frame %d is %q, want %s", j, call[2+j], name)
			}
		}
	}
	all := account.All()
	if account.Shown != 40 || account.Own != 0 || account.Cut != 0 || all.Received+all.Lost != all.Counted || all.Received != 40 || len(account.Notes()) > 0 {
		t.Errorf("the account is %+v", account)
	}
}

// An event of several places has the name of the one that was hit, whoever makes its record.
func TestALineHasTheNameOfItsPlace(t *testing.T) {
	source := capture.Open(t, "lines")
	sources := source.Sources(t)
	_, work := source.Place(t, "work")
	_, spin := source.Place(t, "spin")
	sources[0].Places = map[uint64]probe.PlaceName{work: {Event: "the_one"}, spin: {Event: "the_other"}}
	sources[0].Record = func(dst []byte, s *perfevent.Sample) []byte { return append(dst, s.Raw...) }
	var out bytes.Buffer
	if _, err := followed(t, source, Options{Sources: sources, Out: &out}); err != nil {
		t.Fatal(err)
	}
	if n := strings.Count(out.String(), ": the_one: ("); n != 40 || strings.Count(out.String(), "\n") != 40 {
		t.Errorf("%d of 40 lines name the place:\n%s", n, out.String())
	}
}

func TestTheFirstHitsComeWithTheirStacks(t *testing.T) {
	for _, test := range []struct{ most, shown uint64 }{{0, 40}, {1, 1}, {7, 7}, {40, 40}, {41, 40}} {
		source := capture.Open(t, "lines")
		var out bytes.Buffer
		account, err := followed(t, source, Options{Sources: source.Sources(t), Out: &out, MaxHits: test.most,
			Stacks: stack.Stacks{User: true, Unwind: stack.Auto, Entry: true}})
		if err != nil {
			t.Fatal(err)
		}
		heads, frames := strings.Count(out.String(), "<user stack trace>\n"), strings.Count(out.String(), " => work+")
		if account.Shown != test.shown || heads != int(test.shown) || frames != int(test.shown) {
			t.Errorf("at most %d: %d shown, with %d stacks and %d leaves, want %d", test.most, account.Shown, heads, frames, test.shown)
		}
	}
}

func TestOwnHitsAreNotShown(t *testing.T) {
	source := capture.Open(t, "lines")
	f, err := newFollower(Options{Sources: source.Sources(t), Out: os.Stdout})
	if err != nil {
		t.Fatal(err)
	}
	f.self = uint32(source.Processes()[0])
	account, err := f.follow(context.Background(), source)
	if err != nil || account.Own != 40 || account.Shown != 0 {
		t.Errorf("%v, %+v; want 40 hits of our own", err, account)
	}
}

var errClosed = errors.New("nobody reads it")

type closed struct{}

func (closed) Write([]byte) (int, error) { return 0, errClosed }

func TestAnOutputThatFailsEndsTheRun(t *testing.T) {
	source := capture.Open(t, "lines")
	if _, err := followed(t, source, Options{Sources: source.Sources(t), Out: closed{}}); !errors.Is(err, errClosed) {
		t.Errorf("the error is %v", err)
	}
}

// busy is a capture whose every record comes a second after the one before.
type busy struct{ *capture.Source }

func (b busy) Read(ctx context.Context, by perfevent.Reader, handle func(perfevent.Record) error) error {
	now := uint64(0)
	return b.Source.Read(ctx, perfevent.Reader{}, func(record perfevent.Record) error {
		now += 1e9
		by.Round(now)
		for range 10 {
			if err := handle(record); err != nil {
				return err
			}
		}
		return nil
	})
}

func TestTooManyHitsEndTheRun(t *testing.T) {
	source := capture.Open(t, "lines")
	_, err := followed(t, busy{source}, Options{Sources: source.Sources(t), Out: &bytes.Buffer{}, MaxRate: 9})
	var rate *RateError
	if !errors.As(err, &rate) || rate.Rate != 10 || rate.Max != 9 || !strings.HasPrefix(err.Error(), "10 hits a second, more than the 9") {
		t.Errorf("the error is %v", err)
	}
}
