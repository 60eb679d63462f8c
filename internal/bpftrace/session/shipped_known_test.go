package session

import (
	"bufio"
	"bytes"
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/ringtap/ringtap/internal/testkit/testlimit"
	"github.com/ringtap/ringtap/perfevent"
	"github.com/ringtap/ringtap/scripts"
)

// known is how often the known process does what it does.
const known = 100

// scriptsStarted is how many scripts the work "starts" starts.
const scriptsStarted = 5

// startScripts starts scripts, whose first line has env(1) search the PATH.
func startScripts() error {
	dir, err := os.MkdirTemp("", "starts-of-the-tests")
	if err != nil {
		return err
	}
	defer os.RemoveAll(dir)
	env, errEnv := exec.LookPath("env")
	last, errTrue := exec.LookPath("true")
	script := filepath.Join(dir, "script")
	if err := errors.Join(errEnv, errTrue, os.WriteFile(script, []byte("#!"+env+" true\n"), 0o700)); err != nil {
		return err
	}
	for range scriptsStarted {
		cmd := exec.Command(script)
		cmd.Env = []string{"PATH=/nonexistent-1:/nonexistent-2:" + filepath.Dir(last)}
		if err := cmd.Run(); err != nil {
			return err
		}
	}
	return nil
}

// knownWork is what the known process can do. It listens at a port of 127.0.0.1, whose queue is of
// one connection.
var knownWork = map[string]func(l net.Listener){
	"calls": func(net.Listener) {
		var paths []string
		for i := range known {
			paths = append(paths, fmt.Sprintf("/nonexistent/of-the-tests-of-shipped-programs/%d", i))
		}
		for _, path := range paths {
			_, _ = unix.Open(path, unix.O_RDONLY, 0)
			_ = unix.Kill(os.Getpid(), unix.SIGCONT)
			_ = unix.Kill(os.Getpid(), 0)   // which has no name
			_ = unix.Kill(os.Getpid(), 999) // which is no signal
			unix.Getsid(0)
		}
	},
	"starts": func(net.Listener) { // scripts whose program two directories of the PATH do not have
		if err := startScripts(); err != nil {
			panic(err)
		}
	},
	"everything": func(net.Listener) { // of the one-liners
		zeros, err := os.Open("/dev/zero")
		if err != nil {
			panic(err)
		}
		defer zeros.Close()
		buf, calls := make([]byte, 512), 0
		for i := range known {
			_, _ = unix.Open(fmt.Sprintf("/nonexistent/of-the-tests-of-shipped-programs/%d", i), unix.O_RDONLY, 0)
			_, _ = zeros.Read(buf)
			calls += knownCall(i)
		}
		if calls != known {
			panic(calls)
		}
		child := exec.Command("/bin/bash", "-s", "--", "-") // loads libc everywhere, and ends with this process
		hold, errIn := child.StdinPipe()
		copied, errOut := child.StdoutPipe()
		if err := errors.Join(errIn, errOut, child.Start()); err != nil {
			panic(err)
		}
		fmt.Fprintln(hold, "echo")
		_, _ = bufio.NewReader(copied).ReadString('\n') // it runs
	},
	"reads": func(net.Listener) { // blocks of a device
		fd, err := unix.Open(os.Getenv("SESSION_DEVICE"), unix.O_RDONLY|unix.O_DIRECT, 0)
		if err != nil {
			panic(err)
		}
		page, err := unix.Mmap(-1, 0, 4096, unix.PROT_READ|unix.PROT_WRITE, unix.MAP_PRIVATE|unix.MAP_ANON)
		if err != nil {
			panic(err)
		}
		for i := range known {
			if n, err := unix.Pread(fd, page, int64(i)*4096); n != 4096 {
				panic(fmt.Sprint(n, err))
			}
		}
	},
	"connections": func(l net.Listener) {
		for range known {
			client, err := net.Dial("tcp4", l.Addr().String())
			if err != nil {
				panic(err)
			}
			server, err := l.Accept()
			if err != nil {
				panic(err)
			}
			_, _ = client.Write([]byte("x"))
			_, _ = server.Read(make([]byte, 1))
			_ = client.Close()
			_ = server.Close()
		}
	},
	"retransmissions": func(l net.Listener) { // of what asks for a connection while the queue is full
		// The kernel's timer interrupts this thread: of tracepoints that a processor hits while it
		// idles, perf_event_open(2) counts all but delivers some only (Linux 6.18; perf, too).
		stayOnOneCPU()
		to := &unix.SockaddrInet4{Port: l.Addr().(*net.TCPAddr).Port, Addr: [4]byte{127, 0, 0, 1}}
		var sockets []int
		for i := range 6 {
			fd, err := unix.Socket(unix.AF_INET, unix.SOCK_STREAM|unix.SOCK_NONBLOCK, 0)
			if err != nil {
				panic(err)
			}
			if err := unix.Connect(fd, to); err != nil && err != unix.EINPROGRESS {
				panic(err)
			}
			if i == 0 { // which fills the queue
				waitForConnection(l)
			} else {
				sockets = append(sockets, fd)
			}
		}
		for again := 0; again < 3; {
			again = 0
			for _, fd := range sockets {
				if info, err := unix.GetsockoptTCPInfo(fd, unix.IPPROTO_TCP, unix.TCP_INFO); err == nil && info.Total_retrans > 0 {
					again++
				}
			}
		}
	},
	"drops": func(l net.Listener) { // of segments that belong nowhere in a connection
		client, err := net.Dial("tcp4", l.Addr().String())
		if err != nil {
			panic(err)
		}
		server, err := l.Accept()
		if err != nil {
			panic(err)
		}
		fd, err := unix.Socket(unix.AF_INET, unix.SOCK_RAW, unix.IPPROTO_TCP)
		if err != nil {
			panic(err)
		}
		from, to := client.LocalAddr().(*net.TCPAddr).Port, l.Addr().(*net.TCPAddr).Port
		for range known {
			if err := unix.Sendto(fd, strayTCP(from, to), 0, &unix.SockaddrInet4{Addr: [4]byte{127, 0, 0, 1}}); err != nil {
				panic(err)
			}
		}
		_, _ = client.Close(), server.Close()
	},
	"sleeps": func(net.Listener) {
		for range known {
			_ = unix.Nanosleep(&unix.Timespec{Nsec: 1e6}, nil)
		}
	},
	"races": func(net.Listener) { // of threads for one processor
		var all sync.WaitGroup
		for range 4 {
			all.Go(func() {
				stayOnOneCPU()
				for start := time.Now(); time.Since(start) < 300*time.Millisecond; {
				}
			})
		}
		all.Wait()
	},
}

// strayTCP is a segment between ports of 127.0.0.1 that has some data, and the numbers 1.
func strayTCP(from, to int) []byte {
	const push, ack = 8, 16
	s := binary.BigEndian.AppendUint16(nil, uint16(from))
	s = binary.BigEndian.AppendUint16(s, uint16(to))
	s = append(s, 0, 0, 0, 1, 0, 0, 0, 1, 5<<4, push|ack, 2, 0, 0, 0, 0, 0)
	s = append(s, "stray!"...)
	sum := uint32(127<<8+127<<8+1+1) + unix.IPPROTO_TCP + uint32(len(s)) // of the addresses, too
	for i := 0; i < len(s); i += 2 {
		sum += uint32(binary.BigEndian.Uint16(s[i:]))
	}
	for sum > 0xffff {
		sum = sum>>16 + sum&0xffff
	}
	binary.BigEndian.PutUint16(s[16:], ^uint16(sum))
	return s
}

// knownCall is a function that the known process calls.
//
//go:noinline
func knownCall(n int) int { return min(n+1, 1) }

// stayOnOneCPU has the goroutine run on the first processor that it may run on.
func stayOnOneCPU() {
	runtime.LockOSThread()
	var set unix.CPUSet
	if err := unix.SchedGetaffinity(0, &set); err != nil {
		panic(err)
	}
	cpu := 0
	for !set.IsSet(cpu) {
		cpu++
	}
	set.Zero()
	set.Set(cpu)
	if err := unix.SchedSetaffinity(0, &set); err != nil {
		panic(err)
	}
}

// waitForConnection waits until the queue of a listener holds one.
func waitForConnection(l net.Listener) {
	raw, err := l.(*net.TCPListener).SyscallConn()
	if err != nil {
		panic(err)
	}
	controlled := raw.Control(func(fd uintptr) {
		for {
			if n, err := unix.Poll([]unix.PollFd{{Fd: int32(fd), Events: unix.POLLIN}}, -1); n == 1 {
				return
			} else if err != nil && err != unix.EINTR {
				panic(err)
			}
		}
	})
	if controlled != nil {
		panic(controlled)
	}
}

// TestKnownProcess is the process that the shipped programs watch. It says its port. It begins when
// it gets a line, says when it is done, and stays until its standard input ends: what it names can
// be read.
func TestKnownProcess(t *testing.T) {
	work := knownWork[os.Getenv("SESSION_KNOWN")]
	if work == nil {
		t.Skip("this is a program of the live tests")
	}
	l, err := shortListener()
	if err != nil {
		t.Fatal(err)
	}
	fmt.Println(l.Addr().(*net.TCPAddr).Port)
	input := bufio.NewReader(os.Stdin)
	_, _ = input.ReadString('\n')
	work(l)
	fmt.Println("done")
	_, _ = input.ReadString('\n')
}

// shortListener listens with the shortest queue.
func shortListener() (net.Listener, error) {
	l, err := net.Listen("tcp4", "127.0.0.1:0")
	if err != nil {
		return nil, err
	}
	raw, err := l.(*net.TCPListener).SyscallConn()
	if err != nil {
		return nil, err
	}
	controlled := raw.Control(func(fd uintptr) { err = unix.Listen(int(fd), 0) })
	if controlled != nil {
		return nil, controlled
	}
	return l, err
}

// knownProcess is the known process under way.
type knownProcess struct {
	cmd    *exec.Cmd
	input  io.WriteCloser
	output *bufio.Reader
	port   string
}

// begun starts a process that begins when it gets a line, says when it is done, and stays until its
// standard input ends.
func begun(t *testing.T, cmd *exec.Cmd) *knownProcess {
	t.Helper()
	cmd.Stderr = os.Stderr
	input, err := cmd.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	output, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	testlimit.Limit(t, cmd)
	t.Cleanup(func() {
		input.Close()
		_ = cmd.Wait()
	})
	return &knownProcess{cmd: cmd, input: input, output: bufio.NewReader(output)}
}

// startKnown starts the known process, which waits.
func startKnown(t *testing.T, work, device string) *knownProcess {
	t.Helper()
	cmd := knownIn(work)
	cmd.Env = append(cmd.Env, "SESSION_DEVICE="+device)
	k := begun(t, cmd)
	port, err := k.output.ReadString('\n')
	if err != nil {
		t.Fatal(err)
	}
	k.port = strings.TrimSpace(port)
	return k
}

// knownIn is a known process that does what SESSION_KNOWN says.
func knownIn(work string) *exec.Cmd {
	cmd := exec.Command("/proc/self/exe", "-test.run=^TestKnown")
	cmd.Env = append(os.Environ(), "SESSION_KNOWN="+work)
	return cmd
}

// watchedBy runs a program while the known process does what it does. Words of the form --NAME=VALUE
// are options of the program, others are its arguments.
func (k *knownProcess) watchedBy(t *testing.T, p scripts.Program, words []string) (out string) {
	t.Helper()
	o := Options{Text: p.Text, File: p.Name, Named: map[string]string{}}
	for _, word := range words {
		if option, isOption := strings.CutPrefix(word, "--"); isOption {
			name, value, _ := strings.Cut(option, "=")
			o.Named[name] = value
		} else {
			o.Params = append(o.Params, word)
		}
	}
	return k.watched(t, o, "")
}

// watched is what a program prints beside the process of a command.
func watched(t *testing.T, cmd *exec.Cmd, o Options, report string) (out string, pid int) {
	t.Helper()
	k := begun(t, cmd)
	return k.watched(t, o, report), cmd.Process.Pid
}

// watched runs a program while the process does what it does. A program that reports now and then
// ends when it has written two more of its reports, of which each has one line with report.
func (k *knownProcess) watched(t *testing.T, o Options, report string) (out string) {
	t.Helper()
	o.Near = true // as the commands have it: text is read before the process goes on
	ctx, cancel := context.WithTimeout(t.Context(), testlimit.End)
	defer cancel()
	done := &atomic.Bool{}
	stdout := &awaited{text: "ready\n", then: func() {
		fmt.Fprintln(k.input)
		go func() {
			_, _ = k.output.ReadString('\n')
			done.Store(true)
			if report == "" {
				cancel()
			}
		}()
	}}
	reports := 0
	written := writerFunc(func(b []byte) (int, error) {
		if done.Load() && report != "" && bytes.Contains(b, []byte(report)) {
			if reports++; reports == 2 {
				cancel()
			}
		}
		return stdout.Write(b)
	})
	var stderr bytes.Buffer
	o.Text += "\nbegin { printf(\"ready\\n\"); }\n"
	o.Quiet, o.Stdout, o.Stderr = true, written, &stderr
	if o.Target != nil {
		target := perfevent.Process(k.cmd.Process.Pid)
		o.Target, o.View.PIDs = &target, []int{k.cmd.Process.Pid}
	}
	if code, err := Run(ctx, o); err != nil || code != 0 {
		t.Fatalf("exit code %d, %v\n%s", code, err, &stderr)
	}
	return stdout.String()
}

type writerFunc func(b []byte) (int, error)

func (f writerFunc) Write(b []byte) (int, error) { return f(b) }
