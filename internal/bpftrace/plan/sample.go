package plan

import (
	"fmt"
	"math"
	"strconv"
	"strings"
	"time"
)

// Sample is an event that perf samples.
type Sample struct {
	Kind      string // "profile", "software", "hardware" or "watchpoint"
	Name      string // perf(1)'s name of a software or hardware event
	Frequency uint64 // samples per second on each CPU; 0 if Period is set
	Period    uint64 // events between samples, nanoseconds for a profile; 0 if Frequency is set
	Address   uint64 // of a watchpoint
	Length    int    // of a watchpoint, in bytes
	Mode      string // of a watchpoint: r, w, rw or x
}

// String returns the event in perf(1)'s terms.
func (s Sample) String() string {
	switch {
	case s.Kind == "watchpoint":
		return fmt.Sprintf("mem:%#x/%d:%s", s.Address, s.Length, s.Mode)
	case s.Kind == "profile" && s.Frequency > 0:
		return fmt.Sprintf("cpu-clock, %d times a second on each CPU", s.Frequency)
	case s.Kind == "profile":
		return fmt.Sprintf("cpu-clock, each %s on each CPU", time.Duration(s.Period))
	}
	return fmt.Sprintf("%s, one of %d", s.Name, s.Period)
}

// maxFrequency is the most samples per second that a profile may take on each CPU.
const maxFrequency = 100_000

// sampled plans profile:…, software:…, hardware:… or watchpoint:….
func (p *planner) sampled() *Event {
	s, problem := Sample{Kind: p.point.Provider}, ""
	switch s.Kind {
	case "profile":
		problem = s.profile(p.point.Args)
	case "watchpoint":
		problem = s.watchpoint(p.point.Args)
	default:
		problem = s.counter(p.point.Args)
	}
	if problem != "" {
		p.refuse("", "%s", problem)
		return nil
	}
	return &Event{Place: Sampled, Sample: s}
}

// profile parses hz:99, ms:10, 10ms or a number of nanoseconds. It returns "", or a message that
// says what is wrong.
func (s *Sample) profile(args []string) string {
	const want = "a profile is profile:hz:RATE, profile:ms:NUMBER or profile:10ms"
	var period time.Duration
	switch len(args) {
	case 1:
		if n, err := strconv.ParseUint(args[0], 0, 63); err == nil {
			if period = time.Duration(n); period < time.Second/maxFrequency {
				return fmt.Sprintf("%s is a number of nanoseconds: profile:hz:%[1]s takes so many samples a second", args[0])
			}
		} else if period, err = time.ParseDuration(args[0]); err != nil {
			return want
		}
	case 2:
		n, err := count(args[1])
		if err != nil || n > math.MaxUint32 {
			return want
		}
		switch args[0] {
		case "hz":
			if n < 1 || n > maxFrequency {
				return fmt.Sprintf("a profile takes 1 to %d samples a second", maxFrequency)
			}
			s.Frequency = n
			return ""
		case "s":
			period = time.Duration(n) * time.Second
		case "ms":
			period = time.Duration(n) * time.Millisecond
		case "us":
			period = time.Duration(n) * time.Microsecond
		default:
			return want
		}
	default:
		return want
	}
	if period < time.Second/maxFrequency {
		return fmt.Sprintf("a profile takes at most %d samples a second", maxFrequency)
	}
	s.Period = uint64(period)
	return ""
}

// count parses a number such as 1000, 1_000 or 1e6.
func count(text string) (uint64, error) {
	text = strings.ReplaceAll(text, "_", "")
	if mantissa, exponent, ok := strings.Cut(text, "e"); ok && !strings.HasPrefix(text, "0x") {
		if n, err := strconv.ParseUint(exponent, 10, 5); err == nil && n < 19 {
			text = mantissa + strings.Repeat("0", int(n))
		}
	}
	return strconv.ParseUint(text, 0, 63)
}

// watchpoint parses ADDRESS:LENGTH:MODE. It returns "", or a message that says what is wrong.
func (s *Sample) watchpoint(args []string) string {
	const want = "a watchpoint is watchpoint:ADDRESS:LENGTH:MODE, with 1, 2, 4 or 8 bytes and the mode r, w, rw or x"
	if len(args) != 3 {
		return want
	}
	address, err := strconv.ParseUint(args[0], 0, 64)
	if err != nil {
		return want
	}
	length, err := strconv.Atoi(args[1])
	if err != nil || length != 1 && length != 2 && length != 4 && length != 8 {
		return want
	}
	switch args[2] {
	case "r", "w", "rw", "wr", "x":
	default:
		return want
	}
	s.Address, s.Length, s.Mode = address, length, args[2]
	return ""
}
