package main

import (
	"bufio"
	"fmt"
	"io"
	"os"
	"os/exec"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/ringtap/ringtap/internal/testkit/compiled"
	"github.com/ringtap/ringtap/internal/testkit/testlimit"
	"github.com/ringtap/ringtap/internal/testkit/truth"
)

// tlsProgram is a program that knows its calls of OpenSSL. It stays when it has made them:
// bpftrace looks names of functions up when it prints them.
type tlsProgram struct {
	pid   int
	in    io.Writer
	out   *bufio.Reader
	calls []string // "FUNCTION RESULT", of work
	err   error    // of work
}

func startTLS(t *testing.T, messages int) *tlsProgram {
	t.Helper()
	if _, err := os.Stat("/usr/include/openssl/ssl.h"); err != nil {
		t.Skip("libssl-dev is not installed")
	}
	program := compiled.Program(t, compiled.Sources(t, "testdata/tls/calls.c"), "gcc", "-O2", "-Wall", "-o", "calls", "calls.c", "-lssl", "-lcrypto")
	cmd := exec.Command(program, strconv.Itoa(messages))
	cmd.Stderr = os.Stderr
	in, out := truth.Start(t, cmd)
	testlimit.Limit(t, cmd)
	t.Cleanup(func() { _ = in.Close(); _ = cmd.Wait() })
	p := &tlsProgram{pid: cmd.Process.Pid, in: in, out: bufio.NewReader(out)}
	if line, err := p.out.ReadString('\n'); line != "ready\n" {
		t.Fatalf("the program says %q, %v", line, err)
	}
	return p
}

// work has the program make its calls.
func (p *tlsProgram) work() {
	if _, p.err = io.WriteString(p.in, "\n"); p.err != nil {
		return
	}
	for {
		line, err := p.out.ReadString('\n')
		if line == "done\n" || err != nil {
			p.err = err
			return
		}
		p.calls = append(p.calls, strings.TrimSpace(line))
	}
}

// besideBpftrace runs a tool of Debian's bpftrace on the program by both.
func (p *tlsProgram) besideBpftrace(t *testing.T, tool string, enough func(text string) bool) (ours, theirs string) {
	t.Helper()
	ours, theirs = sideBySide{program: debiansTool(t, tool), both: []string{"-p", strconv.Itoa(p.pid)}, begin: p.work,
		enough: func(b, r string) bool { return enough(b) && enough(r) }}.run(t)
	if p.err != nil {
		t.Fatalf("the program has made %d calls: %v", len(p.calls), p.err)
	}
	return ours, theirs
}

func TestPeerDebiansSslsnoopPrintsTheCallsThatBpftracePrints(t *testing.T) {
	needTracefs(t, "uprobe_events")
	p := startTLS(t, 10)
	ofSSL := regexp.MustCompile(fmt.Sprintf(`(?m)^\d+ +%d .* SSL_\w+$`, p.pid))
	ours, theirs := p.besideBpftrace(t, "sslsnoop", func(text string) bool {
		return len(ofSSL.FindAllString(text, -1)) >= len(p.calls)
	})
	line := regexp.MustCompile(fmt.Sprintf(`^\d+ +%d `, p.pid))
	const mask = `^\d+ +\d+ +calls +\d+ ` // the time, the thread, its name, how long it took
	want := linesOf(theirs, line, mask)
	if got := linesOf(ours, line, mask); !slices.Equal(got, want) {
		t.Errorf("%d lines, bpftrace prints %d\n%s\nbpftrace:\n%s", len(got), len(want), strings.Join(got, "\n"), strings.Join(want, "\n"))
	}
	var known []string
	for _, l := range want {
		result, function, _ := strings.Cut(l, " ")
		if n, err := strconv.ParseInt(result, 10, 64); err == nil && strings.HasPrefix(function, "SSL_") {
			known = append(known, fmt.Sprint(function, " ", int32(n)))
		}
	}
	slices.Sort(known)
	slices.Sort(p.calls)
	if !slices.Equal(known, p.calls) {
		t.Errorf("bpftrace prints calls\n%s\nthe program has made\n%s", strings.Join(known, "\n"), strings.Join(p.calls, "\n"))
	}
}

func TestPeerDebiansSsllatencyCountsTheCallsThatBpftraceCounts(t *testing.T) {
	needTracefs(t, "uprobe_events")
	p := startTLS(t, 10)
	ours, theirs := p.besideBpftrace(t, "ssllatency", func(string) bool { return true }) // it prints at its end
	known := map[string]int{}
	for _, call := range p.calls {
		function, result, _ := strings.Cut(call, " ")
		failed := ""
		if strings.HasPrefix(result, "-") {
			failed = "F"
		}
		known[failed+"["+function+"]"]++
	}
	for name, text := range map[string]string{"bpftrace": theirs, "ringtap": ours} {
		for key, n := range known {
			if got := sumOf(t, text, regexp.QuoteMeta("@stat"+key)+`: count (\d+),`); got != n {
				t.Errorf("%s: @stat%s counts %d calls, the program has made %d\n%s", name, key, got, n, text)
			}
			_, rows, _ := strings.Cut(text, "@hist"+key+": \n")
			rows, _, _ = strings.Cut(rows, "\n\n")
			if got := sumOf(t, rows, `[\])] +(\d+) \|`); got != n {
				t.Errorf("%s: @hist%s counts %d calls, the program has made %d\n%s", name, key, got, n, text)
			}
		}
	}
	const keys, mask = `^@\w+\[.*\]:`, `, average .*`
	if got, want := linesOf(ours, regexp.MustCompile(keys), mask), linesOf(theirs, regexp.MustCompile(keys), mask); !slices.Equal(got, want) {
		t.Errorf("it prints the maps\n%s\nbpftrace:\n%s", strings.Join(got, "\n"), strings.Join(want, "\n"))
	}
}
