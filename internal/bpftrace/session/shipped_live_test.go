package session

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"math"
	"os"
	"regexp"
	"strconv"
	"strings"
	"testing"

	"github.com/ringtap/ringtap/ftrace"
	"github.com/ringtap/ringtap/internal/bpftrace/syntax"
	"github.com/ringtap/ringtap/internal/testkit/loopdevice"
	"github.com/ringtap/ringtap/internal/testkit/truth"
	"github.com/ringtap/ringtap/scripts"
)

func TestLiveEveryShippedProgramAttaches(t *testing.T) {
	if os.Geteuid() != 0 {
		t.Skip("root: tracepoints")
	}
	tracefs, _, err := ftrace.Mount()
	if err != nil {
		t.Fatal(err)
	}
	for _, p := range scripts.All() {
		t.Run(p.Name, func(t *testing.T) {
			parsed, err := syntax.Parse(p.Name, p.Text, syntax.Options{})
			if err != nil {
				t.Fatal(err)
			}
			for _, probe := range parsed.Probes {
				for _, point := range probe.Points {
					if point.Provider != "tracepoint" || missingProbes(parsed) == "ignore" {
						continue
					}
					if _, err := tracefs.Format(point.Args[0], point.Args[1]); errors.Is(err, fs.ErrNotExist) {
						t.Skipf("this kernel has no %s", point.Text)
					}
				}
			}
			_, err = tracefs.Format("ext4", "ext4_sync_file_enter")
			refused := p.Name == "ext4slower" && errors.Is(err, fs.ErrNotExist)
			named := []map[string]string{nil}
			for _, o := range p.Options {
				value := map[scripts.Kind]string{scripts.Flag: "true", scripts.Number: "7", scripts.Text: "text"}[o.Kind]
				named = append(named, map[string]string{o.Name: value})
			}
			for _, options := range named {
				var stdout, stderr bytes.Buffer
				code, err := Run(t.Context(), Options{
					Text: p.Text, File: p.Name + ".bt", Named: options, DryRun: true, Quiet: true, Stdout: &stdout, Stderr: &stderr,
				})
				if strings.Contains(stderr.String(), "CONFIG_KPROBE_EVENTS") {
					t.Skip("kprobe_events: the kernel is built without CONFIG_KPROBE_EVENTS")
				}
				if strings.Contains(stderr.String(), "ERROR: libssl: no such command or library") {
					t.Skip("no library for TLS is installed")
				}
				if refused {
					if want := "ERROR: this kernel has none of tracepoint:ext4:ext4_es_lookup_extent_enter, "; code != failed || err != nil ||
						!strings.Contains(stderr.String(), want) || strings.Count(stderr.String(), "ERROR") != 1 {
						t.Errorf("%v: exit code %d, %v, not %q but\n%s", options, code, err, want, &stderr)
					}
					continue
				}
				if err != nil || code != 0 || stderr.Len() > 0 {
					t.Errorf("%v: exit code %d, %v\n%s", options, code, err, &stderr)
				}
			}
		})
	}
}

// shippedTest is a run of a program beside a process that knows what it does. In words and lines,
// PID is that process, PORT is the port that it listens at, and DEVICE is its block device.
type shippedTest struct {
	program string
	words   []string
	work    string
	check   shippedCheck
}

var shippedTests = []shippedTest{
	{"opensnoop", []string{"--failed=true"}, "calls", lines(known, `PID -1 ~?/nonexistent/of-the-tests-of-shipped-programs/`)},
	{"killsnoop", []string{"--signals=true"}, "calls", lines(2*known, `PID PID (SIGCONT|0) 0$`)},
	{"killsnoop", []string{"--failed=true"}, "calls", lines(known, `^exe PID PID 999 -22$`)},
	{"killsnoop", []string{"--failed=true"}, "calls", lines(0, `PID PID \d+ 0$`)},
	{"execsnoop", nil, "starts", lines(scriptsStarted, `^true \d+ \d+ 0 true \S*/starts-of-the-tests\S*/script$`)},
	{"execsnoop", nil, "starts", lines(0, `^\S+ \d+ \d+ -\d+ `)},
	{"execsnoop", []string{"--fails=true"}, "starts", lines(2*scriptsStarted, `^script \d+ \d+ -2 true \S*/starts-of-the-tests\S*/script$`)},
	{"syscount", []string{"--calls=true", "--by-pid=true", "--failures=true"}, "calls", lines(1, `^PID exe kill 100$`)},
	{"syscount", []string{"--calls=true", "--by-pid=true", "--failures=true"}, "calls", lines(0, `^PID exe getsid`)},
	{"syscount", []string{"--calls=true", "--by-pid=true"}, "calls", lines(1, `^PID exe getsid 100$`)},
	{"syscount", []string{"--by-pid=true", "--rows=1"}, "calls", lines(1, `^\d+ .* \d+$`)},

	{"iosnoop", []string{"--device=DEVICE"}, "reads", lines(known, `^exe PID R\S* DEVICE \d+ 4096 \d+\.\d\d$`)},
	{"iosnoop", []string{"--device=DEVICE", "--kind=*W*", "--queued=true"}, "reads", lines(0, `DEVICE`)},
	{"iosnoop", []string{"--pid=PID", "--kind=R*", "--start-time=true", "--end-time=true"}, "reads", lines(known, `^\d+\.\d{6} \d+\.\d{6} exe PID R\S* DEVICE `)},
	{"biosnoop", []string{"--device=DEVICE", "--queue-time=true"}, "reads", lines(known, `exe PID DEVICE R \d+ 4096 \d+\.\d\d \d+\.\d\d$`)},
	{"biosnoop", []string{"--device=DEVICE", "--pattern=true"}, "reads", lines(known-1, `exe PID DEVICE R \d+ 4096 S `)},
	{"iolatency", []string{"--device=DEVICE"}, "reads", sum(known, `^\d+ -> \d+ : (\d+) \|`)},
	{"bitesize", []string{"--sizes=4 5"}, "reads", atLeast(known, `^4\.0 -> 4\.9 : (\d+) \|`)},

	{"tcpconnect", nil, "connections", lines(known, `^PID exe 4 127\.0\.0\.1 127\.0\.0\.1 PORT$`)},
	{"tcpconnect", []string{"--lport=true", "--print-uid=true", "--port=1,PORT"}, "connections", lines(known, `^0 PID exe 4 127\.0\.0\.1 \d{2,5} 127\.0\.0\.1 PORT$`)},
	{"tcpconnect", []string{"--ipv6=true"}, "connections", lines(0, `PORT`)},
	{"tcpconnect", []string{"--flows=true", "--pid=PID"}, "connections", lines(1, `^127\.0\.0\.1 127\.0\.0\.1 PORT 100$`)},
	{"tcpaccept", []string{"--port=PORT"}, "connections", lines(known, `^PID exe 4 127\.0\.0\.1 \d{2,5} 127\.0\.0\.1 PORT$`)},
	{"tcpretrans", nil, "retransmissions", someLines(3, `^\S+ \d+ 127\.0\.0\.1:\d+ R> 127\.0\.0\.1:PORT SYN_SENT$`)},
	{"tcpretrans", []string{"--flows=true", "--ipv4=true"}, "retransmissions", someLines(3, `^127\.0\.0\.1:\d+ 127\.0\.0\.1:PORT [1-9]\d*$`)},
	{"tcpretrans", []string{"--kernel-stack=true"}, "retransmissions", someLines(3, `^__tcp_retransmit_skb\S*\+`)},
	{"tcpdrop", []string{"--no-stack=true"}, "drops", lines(known, `^\S+ PID 4 127\.0\.0\.1:\d+ > 127\.0\.0\.1:PORT ESTABLISHED \((\?|PSH\|ACK)\) TCP_(OLD|INVALID)_SEQUENCE \(\d+\)$`)},
	{"tcpdrop", nil, "drops", lines(known, `^tcp_v4_rcv\+\d+$`)},
	{"tcpdrop", []string{"--ipv6=true"}, "drops", lines(0, `PORT`)},

	{"offcputime", []string{"--pid=PID", "--kernel-stacks-only=true"}, "sleeps", atLeast(known*900, `^(\d+)$`)},
	{"offcputime", []string{"--pid=PID", "--user-stacks-only=true"}, "sleeps", someLines(1, `session\.TestKnownProcess\+`)},
	{"wakeuptime", []string{"--pid=PID", "--min-block-time=900"}, "sleeps", atLeast(known*900, `^(\d+)$`)},
	{"runqslower", []string{"1000", "--pid=PID", "--previous=true"}, "races", someLines(1, `^\S+ exe \d+ \d{4,} \S+ \d+$`)},
}

// shippedCheck is about lines that match a pattern. Its words are apart by one space.
type shippedCheck struct {
	pattern     string
	least, most int
	summed      bool // of the pattern's group, not of how many lines there are
}

func lines(n int, pattern string) shippedCheck { return shippedCheck{pattern, n, n, false} }
func someLines(n int, pattern string) shippedCheck {
	return shippedCheck{pattern, n, math.MaxInt, false}
}
func sum(n int, pattern string) shippedCheck     { return shippedCheck{pattern, n, n, true} }
func atLeast(n int, pattern string) shippedCheck { return shippedCheck{pattern, n, math.MaxInt, true} }

func TestLiveShippedProgramsSeeWhatAProcessDoes(t *testing.T) {
	if os.Geteuid() != 0 {
		t.Skip("root: tracepoints")
	}
	programs := map[string]scripts.Program{}
	for _, p := range scripts.All() {
		programs[p.Name] = p
	}
	for _, test := range shippedTests {
		t.Run(test.program+" "+strings.Join(test.words, " "), func(t *testing.T) {
			if test.work == "reads" || test.work == "retransmissions" {
				// Of what a CPU hits in an interrupt while it is idle, Linux 6.18 delivers some only.
				truth.KeepBusy(t)
			}
			device, number := "", ""
			if test.work == "reads" {
				device, number = loopdevice.New(t)
			}
			out, n := test.run(t, programs[test.program], device, number)
			if n < test.check.least || n > test.check.most {
				t.Errorf("%d of %s, want %d to %d, in\n%s", n, test.check.pattern, test.check.least, test.check.most, out)
			}
		})
	}
}

// run runs the program beside a process that does the work, and counts what is found in its output.
func (test *shippedTest) run(t *testing.T, program scripts.Program, device, number string) (out string, n int) {
	t.Helper()
	k := startKnown(t, test.work, device)
	names := strings.NewReplacer("PID", fmt.Sprint(k.cmd.Process.Pid), "PORT", k.port, "DEVICE", number)
	var words []string
	for _, word := range test.words {
		words = append(words, names.Replace(word))
	}
	out = k.watchedBy(t, program, words)
	pattern := regexp.MustCompile(names.Replace(test.check.pattern))
	for line := range strings.Lines(out) {
		found := pattern.FindStringSubmatch(strings.Join(strings.Fields(line), " "))
		switch {
		case found == nil:
		case test.check.summed:
			add, err := strconv.Atoi(found[1])
			if err != nil {
				t.Fatal(err)
			}
			n += add
		default:
			n++
		}
	}
	return out, n
}

func TestLiveShippedProgramsRefuseWhatTheirOptionsDoNotMean(t *testing.T) {
	if os.Geteuid() != 0 {
		t.Skip("root: tracepoints")
	}
	for _, p := range scripts.All() {
		for _, o := range p.Options {
			if o.Name != "device" && o.Name != "port" && o.Name != "sizes" {
				continue
			}
			var stderr bytes.Buffer
			code, err := Run(t.Context(), Options{
				Text: p.Text, File: p.Name + ".bt", Named: map[string]string{o.Name: "8,nonsense"}, Quiet: true, Stdout: io.Discard, Stderr: &stderr,
			})
			if code != 1 || err != nil || !strings.Contains(stderr.String(), "ERROR: --"+o.Name+" ") {
				t.Errorf("%s --%s: exit code %d, %v\n%s", p.Name, o.Name, code, err, &stderr)
			}
		}
	}
}
