package syscalltext_test

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"regexp"
	"runtime"
	"slices"
	"strings"
	"testing"

	"github.com/ringtap/ringtap/ftrace"
	"github.com/ringtap/ringtap/internal/probe"
	"github.com/ringtap/ringtap/internal/readmem/athit"
	"github.com/ringtap/ringtap/internal/readmem/helper"
	"github.com/ringtap/ringtap/internal/readmem/syscalltext"
	"github.com/ringtap/ringtap/internal/testkit/testlimit"
	"github.com/ringtap/ringtap/internal/trace"
	"github.com/ringtap/ringtap/perfevent"
	"golang.org/x/sys/unix"
)

// asOpener is the environment variable that makes this test the program that
// opens names.
const asOpener = "RINGTAP_TEST_OPENER"

func TestMain(m *testing.M) {
	helper.Serve(map[string]helper.NewVisitor{athit.Visitor: athit.NewVisitors()})
	switch os.Getenv(asOpener) {
	case "":
	case asStarter:
		startPrograms()
		return
	case asReuser:
		reuseBuffer()
		return
	default:
		openNames()
		return
	}
	os.Exit(m.Run())
}

const (
	opened    = 1000
	nameForm  = "/nonexistent/%s/%04d\x00"
	openFlags = unix.O_RDONLY | unix.O_NOFOLLOW
)

// openNames opens a thousand names, each in memory of its own, a quarter of them
// with another flag. It then lives until its input ends, so that its memory can
// be read at any time.
func openNames() {
	runtime.LockOSThread()
	names := make([][]byte, opened)
	for i := range names {
		names[i] = fmt.Appendf(nil, nameForm, os.Getenv(asOpener), i)
	}
	fmt.Println("ready")
	in := bufio.NewReader(os.Stdin)
	_, _ = in.ReadString('\n')
	for i, name := range names {
		flags := openFlags
		if i%4 == 0 {
			flags |= unix.O_DIRECTORY
		}
		_, _ = unix.Open(string(name[:len(name)-1]), flags, 0)
	}
	fmt.Println("done")
	_, _ = in.ReadString('\n')
	runtime.KeepAlive(names)
}

// Every name is shown as the program knows it, whatever way it came, and in the
// order of the calls.
func TestLiveNamesAreThoseThatWereOpened(t *testing.T) {
	if os.Geteuid() != 0 {
		t.Skip("root: tracepoints are root's")
	}
	for _, way := range syscalltext.Methods()[:4] {
		for _, filter := range []string{"", fmt.Sprintf("flags & %d", unix.O_DIRECTORY)} {
			t.Run(string(way)+" "+filter, func(t *testing.T) {
				lines := followOpener(t, way, filter)
				step := 1
				if filter != "" {
					step = 4
				}
				for i, n := 0, 0; i < opened; i, n = i+step, n+1 {
					want := fmt.Sprintf(nameForm, way, i)
					if n >= len(lines) || lines[n]+"\x00" != want {
						t.Fatalf("line %d of %d is not of %q: %q", n, len(lines), want, lines[max(0, n-2):min(len(lines), n+2)])
					}
				}
			})
		}
	}
}

// What a filter says of texts holds for those that the program opened, and not for what
// was read later in their place.
func TestLiveFiltersCompareTheNamesThatWereOpened(t *testing.T) {
	if os.Geteuid() != 0 {
		t.Skip("root: tracepoints are root's")
	}
	for _, way := range syscalltext.Methods()[:4] {
		for _, test := range []struct {
			filter string
			wanted func(i int) bool
		}{
			{`filename == "/nonexistent/%s/0017"`, func(i int) bool { return i == 17 }},
			{`filename ~ "/nonexistent/%s/*7"`, func(i int) bool { return i%10 == 7 }},
			{`filename ~ "/nonexistent/%s/*" && filename !~ "*7" && flags & DIRECTORY`, func(i int) bool { return i%4 == 0 && i%10 != 7 }},
			{`filename != "/nonexistent/%s/0004" && flags & DIRECTORY && flags & NOFOLLOW`, func(i int) bool { return i%4 == 0 && i != 4 }},
			{`(filename ~ "/nonexistent/%s/*7" || flags & DIRECTORY) && flags & NOFOLLOW`, func(i int) bool { return i%10 == 7 || i%4 == 0 }},
		} {
			filter := strings.NewReplacer("%s", string(way), "DIRECTORY", fmt.Sprint(unix.O_DIRECTORY), "NOFOLLOW", fmt.Sprint(unix.O_NOFOLLOW)).Replace(test.filter)
			t.Run(filter, func(t *testing.T) {
				var want []string
				for i := range opened {
					if test.wanted(i) {
						want = append(want, strings.TrimSuffix(fmt.Sprintf(nameForm, way, i), "\x00"))
					}
				}
				if got := followOpener(t, way, filter); !slices.Equal(got, want) {
					t.Errorf("%d lines, want %d: %.10q", len(got), len(want), got)
				}
			})
		}
	}
}

// followOpener runs the program that opens names, and returns those of the lines about it.
func followOpener(t *testing.T, way syscalltext.Method, filter string) []string {
	t.Helper()
	tracepoint := "syscalls:sys_enter_openat"
	if filter != "" && !strings.Contains(filter, "flags") {
		tracepoint += "*" // openat2(2) has a file name too
	}
	lines := followProgram(t, way, tracepoint, filter, string(way))
	var names []string
	for _, match := range regexp.MustCompile(`sys_openat\(.*filename: 0x[0-9a-f]+ ~?"(/nonexistent/[^"]*)"`).FindAllStringSubmatch(lines, -1) {
		names = append(names, match[1])
	}
	return names
}

// followProgram runs this test as another program, and returns the lines about it.
func followProgram(t *testing.T, way syscalltext.Method, tracepoint, filter, as string) string {
	t.Helper()
	tracefs, err := ftrace.Find()
	if err != nil {
		t.Skip(err)
	}
	set, err := probe.Open(&probe.Spec{Place: probe.Tracepoint, Probe: tracepoint}, probe.Options{Filter: filter})
	if errors.As(err, new(*probe.TracepointError)) {
		t.Skip("no tracepoints of system calls (CONFIG_FTRACE_SYSCALLS)")
	}
	if err != nil {
		t.Fatal(err)
	}
	how := syscalltext.Options{Tracefs: tracefs, Method: way, Near: true, Filter: filter}
	texts, err := syscalltext.Attach(set.Sources, how)
	if err != nil {
		t.Skip(err)
	}
	defer func() {
		if err := texts.Close(); err != nil {
			t.Error(err)
		}
	}()
	if got := texts.Methods[0]; got != way {
		t.Fatalf("the way is %q, want %q", got, way)
	}
	program := exec.Command("/proc/self/exe")
	program.Env = append(os.Environ(), asOpener+"="+as)
	in, err := program.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	out, err := program.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := program.Start(); err != nil {
		t.Fatal(err)
	}
	testlimit.Limit(t, program)
	defer program.Wait()
	defer in.Close()
	said := bufio.NewScanner(out)
	said.Scan()
	if err := texts.Start(perfevent.Process(program.Process.Pid)); err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(context.Background(), testlimit.End)
	defer cancel()
	var lines bytes.Buffer
	account, err := trace.Run(ctx, trace.Options{
		Target:  perfevent.Process(program.Process.Pid),
		Sources: texts.Sources,
		Seen:    texts.Seen(),
		Urgent:  true,
		Aside:   texts.ExtraEvents,
		Out:     &lines,
		Armed: func() {
			fmt.Fprintln(in)
			go func() {
				said.Scan()
				cancel() // what was recorded is shown all the same, and read as long as the program lives
			}()
		},
	})
	if err != nil {
		t.Fatal(err)
	}
	if lost := account.All().Lost; lost > 0 {
		t.Errorf("%d lost", lost)
	}
	return lines.String()
}

// asStarter makes this test the program that starts others.
const asStarter = "starter"

const programs = 300

// startPrograms runs a program that ends at once, three hundred times.
func startPrograms() {
	fmt.Println("ready")
	in := bufio.NewReader(os.Stdin)
	_, _ = in.ReadString('\n')
	for i := range programs {
		if err := exec.Command("/bin/true", fmt.Sprintf("argument-%04d", i)).Run(); err != nil {
			fmt.Println(err)
		}
	}
	fmt.Println("done")
	_, _ = in.ReadString('\n')
}

// The memory that execve(2) is given is gone when its record is read. The programs that it
// starts tell what was there.
func TestLiveProgramsThatWereStartedTellTheirNames(t *testing.T) {
	if os.Geteuid() != 0 {
		t.Skip("root: tracepoints are root's")
	}
	lines := followProgram(t, syscalltext.Memory, "syscalls:sys_enter_execve", "", asStarter)
	names, arguments := 0, 0
	for i, match := range regexp.MustCompile(`sys_execve\(filename: 0x[0-9a-f]+( "/bin/true")?, argv: 0x[0-9a-f]+(?: ~?\["/bin/true", "argument-(\d+)"\])?,`).FindAllStringSubmatch(lines, -1) {
		if match[1] != "" {
			names++
		}
		switch match[2] {
		case "":
		case fmt.Sprintf("%04d", i):
			arguments++
		default:
			t.Errorf("call %d has the arguments of %s", i, match[2])
		}
	}
	if other := regexp.MustCompile(`(?m)^.*filename: 0x[0-9a-f]+ [^"].*$`).FindString(lines); other != "" {
		t.Log(other)
	}
	// A page of the stack that nobody has touched lies before the arguments of one program
	// in five. They are then read later, or never.
	if names != programs || arguments < programs*2/3 {
		t.Errorf("%d names and %d arguments of %d programs", names, arguments, programs)
	}
}
