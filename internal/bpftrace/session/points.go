package session

import (
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/ringtap/ringtap/internal/bpftrace/show"
	"github.com/ringtap/ringtap/internal/bpftrace/syntax"
)

// point is an attach point that ringtap itself fires.
type point struct {
	clause int
	text   string // value of the builtin probe
	period time.Duration
	list   string // that an iterator visits
}

// points are the attach points of a program that ringtap itself fires, by kind, each in program
// order.
type points struct {
	begin, end, intervals, signals []point
	iters                          []point
	tests, benches                 []point
}

// all returns the number of attach points, without tests and benches.
func (p *points) all() int {
	return len(p.begin) + len(p.end) + len(p.intervals) + len(p.signals) + len(p.iters)
}

// add adds an attach point of a clause. handled is false if ringtap does not fire it itself. In
// bpftrace up to 0.23, the builtin probe is BEGIN and END in capitals. The default dialect keeps
// the program's spelling.
func (p *points) add(clause int, a *syntax.AttachPoint, dialect string) (handled bool, err *syntax.Error) {
	at := point{clause: clause, text: a.Text}
	capitals := dialect == show.Debian().Name || a.Capitals && dialect == show.Default().Name
	if capitals && (a.Provider == "begin" || a.Provider == "end") {
		at.text = strings.ToUpper(at.text)
	}
	switch a.Provider {
	case "begin":
		p.begin = append(p.begin, at)
	case "end":
		p.end = append(p.end, at)
	case "self":
		if err := checkSignal(a); err != nil {
			return true, err
		}
		p.signals = append(p.signals, at)
	case "interval":
		period, err := parsePeriod(a.Args)
		if err != nil {
			return true, &syntax.Error{Pos: a.Pos, Msg: err.Error(), Hint: "Write interval:s:1, interval:ms:100 or interval:1s."}
		}
		at.period = period
		p.intervals = append(p.intervals, at)
	case "iter":
		if err := checkIterator(a); err != nil {
			return true, err
		}
		at.list = a.Args[0]
		p.iters = append(p.iters, at)
	case "test":
		p.tests = append(p.tests, at)
	case "bench":
		p.benches = append(p.benches, at)
	default:
		return false, nil
	}
	return true, nil
}

// checkSignal returns an error for any self probe other than self:signal:SIGUSR1, the only one in
// bpftrace.
func checkSignal(a *syntax.AttachPoint) *syntax.Error {
	if len(a.Args) == 2 && a.Args[0] == "signal" && a.Args[1] == "SIGUSR1" {
		return nil
	}
	return &syntax.Error{Pos: a.Pos, Msg: "a self probe is self:signal:SIGUSR1"}
}

// parsePeriod parses the period of an interval: a unit and a number, or a duration.
func parsePeriod(words []string) (time.Duration, error) {
	unit, number := "", words[0]
	if len(words) == 2 {
		unit, number = words[0], words[1]
	} else if i := strings.IndexFunc(number, func(r rune) bool { return r < '0' || r > '9' }); i > 0 {
		number, unit = number[:i], number[i:]
	}
	n, err := strconv.ParseUint(strings.ReplaceAll(number, "_", ""), 10, 63)
	if err != nil || n == 0 {
		return 0, fmt.Errorf("%q is no number of an interval: it must be 1 or more", number)
	}
	var of time.Duration
	switch unit {
	case "s":
		of = time.Second
	case "ms":
		of = time.Millisecond
	case "us":
		of = time.Microsecond
	case "ns", "":
		of = time.Nanosecond
	case "m":
		of = time.Minute
	case "h":
		of = time.Hour
	case "d":
		of = 24 * time.Hour
	case "hz":
		if n > uint64(time.Second) {
			return 0, fmt.Errorf("%d times a second is too often", n)
		}
		return time.Second / time.Duration(n), nil
	default:
		return 0, fmt.Errorf("there is no unit %q of time: s, ms, us or hz", unit)
	}
	if n > uint64(1<<63-1)/uint64(of) {
		return 0, fmt.Errorf("%s%s is too long", number, unit)
	}
	period := time.Duration(n) * of
	if period < time.Microsecond {
		return 0, fmt.Errorf("%s%s is too short: an interval is a microsecond at least", number, unit)
	}
	return period, nil
}
