package descriptors

import (
	"fmt"
	"net"
	"os"
	"path/filepath"
	"regexp"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/ringtap/ringtap/internal/process"
	"github.com/ringtap/ringtap/internal/testkit/fuzzing"
)

// fdOf is the descriptor of a connection or listener.
func fdOf(t *testing.T, c interface {
	File() (*os.File, error)
}) int {
	t.Helper()
	f, err := c.File()
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { f.Close() })
	return int(f.Fd())
}

func TestDescriptorsOfThisProcessReadAsWhatTheyAre(t *testing.T) {
	dir := t.TempDir()
	file, err := os.Create(filepath.Join(dir, "a file: with [marks]"))
	if err != nil {
		t.Fatal(err)
	}
	defer file.Close()
	listener, err := net.Listen("tcp4", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer listener.Close()
	client, err := net.Dial("tcp4", listener.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	defer client.Close()
	packets, err := net.ListenPacket("udp4", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer packets.Close()
	path := filepath.Join(dir, "s")
	local, err := net.Listen("unix", path)
	if err != nil {
		t.Fatal(err)
	}
	defer local.Close()
	var pipe [2]int
	if err := unix.Pipe(pipe[:]); err != nil {
		t.Fatal(err)
	}
	defer unix.Close(pipe[0])
	defer unix.Close(pipe[1])
	epoll, err := unix.EpollCreate1(0)
	if err != nil {
		t.Fatal(err)
	}
	defer unix.Close(epoll)
	if err := unix.EpollCtl(epoll, unix.EPOLL_CTL_ADD, pipe[0], &unix.EpollEvent{Events: unix.EPOLLIN, Fd: int32(pipe[0])}); err != nil {
		t.Fatal(err)
	}
	event, err := unix.Eventfd(0, 0)
	if err != nil {
		t.Fatal(err)
	}
	defer unix.Close(event)

	server := regexp.QuoteMeta(listener.Addr().String())
	table := Open(process.Host{}, os.Getpid())
	for _, test := range []struct {
		fd   int
		want string
	}{
		{int(file.Fd()), regexp.QuoteMeta(file.Name())},
		{fdOf(t, listener.(*net.TCPListener)), "tcp " + server + " listening"},
		{fdOf(t, client.(*net.TCPConn)), "tcp " + regexp.QuoteMeta(client.LocalAddr().String()) + " ↔ " + server},
		{fdOf(t, packets.(*net.UDPConn)), "udp " + regexp.QuoteMeta(packets.LocalAddr().String())},
		{fdOf(t, local.(*net.UnixListener)), "unix stream " + regexp.QuoteMeta(path) + " listening"},
		{pipe[0], `pipe \d+`},
		{epoll, fmt.Sprintf(`epoll of %d pipe \d+`, pipe[0])},
		{event, `eventfd`},
		{1 << 20, ``},
	} {
		if got := table.Name(test.fd); !regexp.MustCompile("^(" + test.want + ")$").MatchString(got) {
			t.Errorf("descriptor %d is %q, want %s", test.fd, got, test.want)
		}
	}
}

// What an epoll instance watches has the number that it had then: another file may have
// that now, also one that watches the instance.
func TestEpollInstancesThatSeemToWatchEachOtherHaveNames(t *testing.T) {
	var pipe [2]int
	if err := unix.Pipe(pipe[:]); err != nil {
		t.Fatal(err)
	}
	defer unix.Close(pipe[0])
	defer unix.Close(pipe[1])
	var epolls [2]int
	for i := range epolls {
		fd, err := unix.EpollCreate1(0)
		if err != nil {
			t.Fatal(err)
		}
		defer unix.Close(fd)
		epolls[i] = fd
	}
	watch := func(epoll, fd int) {
		t.Helper()
		if err := unix.EpollCtl(epoll, unix.EPOLL_CTL_ADD, fd, &unix.EpollEvent{Events: unix.EPOLLIN}); err != nil {
			t.Fatal(err)
		}
	}
	watch(epolls[0], pipe[0])
	kept, err := unix.Dup(pipe[0])
	if err != nil {
		t.Fatal(err)
	}
	defer unix.Close(kept)
	if err := unix.Dup3(epolls[1], pipe[0], 0); err != nil {
		t.Fatal(err)
	}
	watch(epolls[1], epolls[0])
	want := fmt.Sprintf("epoll of %d epoll of %d", pipe[0], epolls[0])
	if got := Open(process.Host{}, os.Getpid()).Name(epolls[0]); got != want {
		t.Errorf("%q, want %q", got, want)
	}
}

func TestAProcessThatIsGoneHasNoNames(t *testing.T) {
	if got := Open(process.Host{Proc: t.TempDir()}, 1).Name(0); got != "" {
		t.Errorf("%q", got)
	}
}

// endpoints are addresses as the kernel writes them on a little-endian machine.
func TestEndpointsAreReadAsTheKernelWritesThem(t *testing.T) {
	for text, want := range map[string]string{
		"0100007F:1F90":                         "127.0.0.1:8080",
		"00000000:0000":                         "0.0.0.0:0",
		"00000000000000000000000001000000:0050": "[::1]:80",
		"0000000000000000FFFF00000100007F:0050": "127.0.0.1:80",
	} {
		if got, ok := endpoint(text); !ok || got.String() != want {
			t.Errorf("%s is %s, want %s", text, got, want)
		}
	}
	for _, text := range []string{"", "0100007F", "0100007:1F90", "zz:1", "0100007F:12345"} {
		if got, ok := endpoint(text); ok {
			t.Errorf("%q is %s", text, got)
		}
	}
}

func FuzzSocketTables(f *testing.F) {
	fuzzing.Bound(f)
	f.Add("heading\n 0: 0100007F:1F90 00000000:0000 0A 00000000:00000000 00:00000000 00000000 0 0 4242 1\n")
	f.Add("heading\n0000000000000000: 00000002 00000000 00010000 0001 01 4242 /run/x\n")
	f.Fuzz(func(t *testing.T, text string) {
		table := &Table{sockets: make(map[string]string)}
		table.internet("tcp", text)
		table.internet("udp6", text)
		table.unix(text)
		table.other("netlink", text)
		for inode, name := range table.sockets {
			if inode == "" || name == "" {
				t.Errorf("the socket of inode %q is %q", inode, name)
			}
		}
	})
}

func ExampleTable_Name() {
	f, err := os.Open("/dev/null")
	if err != nil {
		fmt.Println(err)
		return
	}
	defer f.Close()
	fmt.Println(Open(process.Host{}, os.Getpid()).Name(int(f.Fd())))
	// Output: /dev/null
}
