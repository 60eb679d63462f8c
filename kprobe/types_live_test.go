package kprobe

import (
	"context"
	"encoding/binary"
	"fmt"
	"io/fs"
	"net"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"syscall"
	"testing"
	"unsafe"

	"golang.org/x/sys/unix"

	"github.com/ringtap/ringtap/ftrace"
	"github.com/ringtap/ringtap/ftrace/printfmt"
	"github.com/ringtap/ringtap/internal/host/btf"
	"github.com/ringtap/ringtap/perfevent"
	"github.com/ringtap/ringtap/symbols"
)

// typedHits places a probe whose arguments need types, lets run run, and returns
// what each hit of this process printed behind the place.
func typedHits(t *testing.T, definition string, run func()) []string {
	t.Helper()
	if os.Geteuid() != 0 {
		t.Skip("needs root")
	}
	if _, err := os.Stat(btf.Dir + "/vmlinux"); err != nil {
		t.Skip("CONFIG_DEBUG_INFO_BTF")
	}
	tracefs, _, err := ftrace.Mount()
	if err != nil {
		t.Fatal(err)
	}
	if !tracefs.Has("kprobe_events") {
		t.Skip("CONFIG_KPROBE_EVENTS")
	}
	d, err := Parse(definition)
	if err != nil {
		t.Fatal(err)
	}
	types := KernelTypes("")
	var args []string
	for _, arg := range d.Args {
		fetched, err := types.Fetch(Function{Name: d.Symbol}, d.Kind == Return, arg)
		if err != nil {
			t.Fatalf("%s: %v", definition, err)
		}
		fetched, _, err = ftrace.KernelArgs(fetched, runtime.GOARCH, d.Kind == Return)
		if err != nil {
			t.Fatalf("%s: %v", definition, err)
		}
		for _, a := range fetched {
			args = append(args, a.String())
		}
	}
	group, err := tracefs.NewGroup("kprobe_events")
	if err != nil {
		t.Fatal(err)
	}
	defer func() {
		if err := group.Close(); err != nil {
			t.Error(err)
		}
	}()
	id, err := group.Define(ftrace.Dynamic{Type: byte(d.Kind), Event: "typed", Place: d.Symbol, Args: strings.Join(args, " ")})
	if err != nil {
		t.Fatalf("%s: %v", strings.Join(args, " "), err)
	}
	t.Log(strings.Join(args, " "))
	format, err := tracefs.Format(group.Name(), "typed")
	if err != nil {
		t.Fatal(err)
	}
	return ownHits(t, perfevent.Tracepoint(id, "typed"), format, run)
}

// ownHits are the hits of this process, as text.
func ownHits(t *testing.T, event perfevent.Event, format *ftrace.Format, run func()) []string {
	t.Helper()
	printer, err := printfmt.New(format, printfmt.Options{KernelSymbol: kernelSymbol(t)})
	if err != nil || printer.Fallback() != nil {
		t.Fatal(err, printer.Fallback())
	}
	s, err := perfevent.Open(perfevent.Process(os.Getpid()), []perfevent.Sampling{{Event: event, Period: 1, Raw: true}}, perfevent.Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	if err := s.Enable(); err != nil {
		t.Fatal(err)
	}
	run()
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	var hits []string
	if err := s.Read(ctx, func(r perfevent.Record) error {
		if sample, ok := r.(*perfevent.Sample); ok {
			_, text, _ := strings.Cut(string(printer.Append(nil, sample.Raw)), ") ")
			hits = append(hits, text)
		}
		return nil
	}); err != nil {
		t.Fatal(err)
	}
	return hits
}

func kernelSymbol(t *testing.T) func(addr uint64) (string, uint64, uint64, string, bool) {
	file, err := os.Open("/proc/kallsyms")
	if err != nil {
		t.Fatal(err)
	}
	defer file.Close()
	kallsyms, err := symbols.ReadKallsyms(file)
	if err != nil {
		t.Fatal(err)
	}
	return func(addr uint64) (string, uint64, uint64, string, bool) {
		s, ok := kallsyms.Lookup(addr)
		return s.Name, addr - s.Start, s.Size, s.Module, ok
	}
}

// has reports hits of which none is want.
func has(t *testing.T, hits []string, want string) {
	t.Helper()
	if !slices.Contains(hits, want) {
		t.Errorf("no hit is %q; there are %q", want, hits[:min(len(hits), 20)])
	}
}

func TestLiveAMemberFarAwayIsTheNameOfTheFile(t *testing.T) {
	path := filepath.Join(t.TempDir(), "a name to be found")
	dir := filepath.Base(filepath.Dir(path))
	hits := typedHits(t, "p:vfs_open path->dentry->d_name.name dir=path->dentry->d_parent->d_name.name:string path->dentry->d_name.len head=(*path).dentry->d_name.name:x8[4] file->f_flags", func() {
		if err := os.WriteFile(path, nil, 0o600); err != nil {
			t.Error(err)
		}
	})
	has(t, hits, fmt.Sprintf(`name="a name to be found" dir=%q len=18 head={0x61,0x20,0x6e,0x61} f_flags=%d`, dir, syscall.O_WRONLY|syscall.O_CREAT|syscall.O_TRUNC|largeFile))
}

// largeFile is the kernel's own O_LARGEFILE.
var largeFile = map[string]int{"amd64": 0o100000, "arm64": 0o400000}[runtime.GOARCH]

func TestLiveAConnectionIsToTheAddress(t *testing.T) {
	listener, err := net.Listen("tcp4", "127.0.0.1:0")
	if err != nil {
		t.Skip("the loopback interface is down:", err)
	}
	defer listener.Close()
	port := listener.Addr().(*net.TCPAddr).Port
	hits := typedHits(t, "p:tcp_connect sk->__sk_common.skc_daddr a=sk->__sk_common.skc_daddr:u8[4] sk->sk_dport "+
		"sk->sk_family sk->sk_reuse sk->sk_prot->name sk->sk_prot->connect ((struct inet_sock *)sk)->inet_sport", func() {
		dialer := net.Dialer{Control: func(network, address string, c syscall.RawConn) error {
			return c.Control(func(fd uintptr) {
				if err := unix.SetsockoptInt(int(fd), unix.SOL_SOCKET, unix.SO_REUSEADDR, 1); err != nil {
					t.Error(err)
				}
			})
		}}
		c, err := dialer.Dial("tcp4", listener.Addr().String())
		if err != nil {
			t.Error(err)
			return
		}
		c.Close()
	})
	swapped := binary.LittleEndian.Uint16(binary.BigEndian.AppendUint16(nil, uint16(port)))
	for i, hit := range hits {
		hits[i], _, _ = strings.Cut(hit, " inet_sport=0x")
		hits[i], _, _ = strings.Cut(hits[i], "+0x0/0x")
	}
	has(t, hits, fmt.Sprintf(`skc_daddr=0x100007f a={127,0,0,1} sk_dport=%#x sk_family=2 sk_reuse=1 name="TCP" connect=tcp_v4_connect`, swapped))
}

func TestLiveAllArgumentsOfAReadAreWhatTheReaderGave(t *testing.T) {
	path := filepath.Join(t.TempDir(), "read me")
	if err := os.WriteFile(path, make([]byte, 100), 0o600); err != nil {
		t.Fatal(err)
	}
	f, err := os.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	buf := make([]byte, 12345)
	read := func() {
		if n, err := syscall.Pread(int(f.Fd()), buf, 67); n != 33 || err != nil {
			t.Error(n, err)
		}
	}
	hits := typedHits(t, "p:vfs_read $args at=*pos file->f_path.dentry->d_name.name:string file->f_inode->i_size", read)
	address := fmt.Sprintf(" buf=%p count=12345 pos=", buf)
	i := slices.IndexFunc(hits, func(hit string) bool { return strings.Contains(hit, address) })
	if i < 0 || !strings.HasPrefix(hits[i], "file=0xff") || !strings.HasSuffix(hits[i], ` at=67 name="read me" i_size=100`) {
		t.Errorf("no hit has%s: %q", address, hits)
	}
	has(t, typedHits(t, "r:vfs_read $args", read), "retval=33")
	dir, err := os.Open(filepath.Dir(path))
	if err != nil {
		t.Fatal(err)
	}
	defer dir.Close()
	has(t, typedHits(t, "r:vfs_read $args", func() { _, _ = syscall.Pread(int(dir.Fd()), buf, 0) }), fmt.Sprintf("retval=%d", -int(syscall.EISDIR)))
}

func TestLiveAStructThatIsPassedByValueIsTakenApart(t *testing.T) {
	fd, err := unix.Socket(unix.AF_INET, unix.SOCK_STREAM, 0)
	if err != nil {
		t.Fatal(err)
	}
	defer unix.Close(fd)
	value := new(int32)
	const definition = "p:tcp_setsockopt level=level optname optval.user optval.is_kernel optlen sk->sk_protocol"
	hits := typedHits(t, definition, func() {
		*value = 1
		if _, _, errno := syscall.Syscall6(syscall.SYS_SETSOCKOPT, uintptr(fd), unix.SOL_TCP, unix.TCP_NODELAY, uintptr(unsafe.Pointer(value)), 4, 0); errno != 0 {
			t.Error(errno)
		}
	})
	has(t, hits, fmt.Sprintf("level=6 optname=1 user=%p is_kernel=0 optlen=4 sk_protocol=6", value))
}

func TestLiveTextOfTheTaskAndWhatAFunctionReturnsAreFollowed(t *testing.T) {
	path := filepath.Join(t.TempDir(), "flags")
	open := func() {
		fd, err := syscall.Open(path, syscall.O_RDWR|syscall.O_CREAT|syscall.O_APPEND, 0o640)
		if err != nil {
			t.Error(err)
		}
		syscall.Close(fd)
	}
	flags := syscall.O_RDWR | syscall.O_CREAT | syscall.O_APPEND | largeFile
	has(t, typedHits(t, "p:do_sys_openat2 dfd=dfd filename u=filename:ustring how->flags how->mode", open),
		fmt.Sprintf("dfd=%d filename=%q u=%[2]q flags=%[3]d mode=%[4]d", unix.AT_FDCWD, path, flags, 0o640))
	has(t, typedHits(t, "r:alloc_empty_file $retval->f_flags", open), fmt.Sprintf("f_flags=%d", flags))
	hits := typedHits(t, "r:do_sys_openat2 $args", func() {
		if _, err := os.Stat(path); err != nil {
			t.Error(err)
		}
		_, _ = syscall.Open(path+"/nothing", syscall.O_RDONLY, 0)
	})
	has(t, hits, fmt.Sprintf("retval=%d", -int(syscall.ENOTDIR)))
}

func TestLiveMembersOfTasksAreThoseOfProc(t *testing.T) {
	comm, err := os.ReadFile("/proc/self/comm")
	if err != nil {
		t.Fatal(err)
	}
	hits := typedHits(t, "p:wake_up_new_task p->comm text=&p->comm comm_2=p->comm:x8[2] p->tgid parent=p->real_parent->tgid p->cred->uid p->signal->rlim[7].rlim_cur", func() {
		// A child that ends at once: the program does not exist.
		process, err := os.StartProcess("/", []string{"/"}, &os.ProcAttr{})
		if err == nil || !isNotExecutable(err) {
			t.Error(process, err)
		}
	})
	var limit unix.Rlimit
	if err := unix.Getrlimit(unix.RLIMIT_NOFILE, &limit); err != nil {
		t.Fatal(err)
	}
	name := strings.TrimSpace(string(comm))
	found := false
	for _, hit := range hits {
		before, rest, _ := strings.Cut(hit, " tgid=")
		tgid, after, _ := strings.Cut(rest, " ")
		found = found || before == fmt.Sprintf("comm=%q text=%[1]q comm_2={%#x,%#x}", name, name[0], name[1]) && tgid != fmt.Sprint(os.Getpid()) &&
			strings.HasPrefix(after, fmt.Sprintf("parent=%d uid=0 rlim_cur=", os.Getpid()))
	}
	if !found {
		t.Errorf("no hit is the child's: %q", hits)
	}
}

func isNotExecutable(err error) bool {
	return strings.Contains(err.Error(), fs.ErrPermission.Error())
}
