package session

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/ringtap/ringtap/ftrace"
	"github.com/ringtap/ringtap/internal/testkit/testlimit"
)

// needEventProbes skips a test where nothing fetches what the fields of tracepoints lead to, or where
// the kernel's structs are not known.
func needEventProbes(t *testing.T) {
	t.Helper()
	if os.Geteuid() != 0 {
		t.Skip("root: tracepoints")
	}
	tracefs, _, err := ftrace.Mount()
	if err != nil {
		t.Skip(err)
	}
	if err := tracefs.TryEventProbe(); errors.Is(err, ftrace.ErrNoEventProbes) {
		t.Skip(ftrace.ErrNoEventProbes)
	} else if err != nil {
		t.Fatal(err)
	}
	if _, err := os.Stat("/sys/kernel/btf/vmlinux"); err != nil {
		t.Skip("CONFIG_DEBUG_INFO_BTF")
	}
}

// besides runs a program, does something when the program prints "ready", and ends it.
func besides(t *testing.T, text string, do func(), params ...string) (out, stderr string) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), testlimit.End)
	defer cancel()
	stdout := &awaited{text: "ready\n", then: func() {
		go func() {
			defer cancel()
			do()
		}()
	}}
	var log bytes.Buffer
	_, err := Run(ctx, Options{Text: "BEGIN { printf(\"ready\\n\"); } " + text, Params: params, Quiet: true, Bare: true, Verbose: true, Stdout: stdout, Stderr: &log})
	if err != nil {
		t.Fatalf("%v\n%s", err, &log)
	}
	return stdout.String(), log.String()
}

// datagrams sends some of growing size.
func datagrams(t *testing.T, from *net.UDPConn, n int) {
	buf := make([]byte, 1000)
	for i := range n {
		if _, err := from.Write(buf[:1+i%len(buf)]); err != nil {
			t.Error(err)
			return
		}
	}
}

// receiver is a socket on the loopback device.
func receiver(t *testing.T) *net.UDPConn {
	t.Helper()
	conn, err := net.ListenUDP("udp4", &net.UDPAddr{IP: net.IPv4(127, 0, 0, 1)})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { conn.Close() })
	return conn
}

// sender is a socket that is connected to another.
func sender(t *testing.T, to *net.UDPConn) *net.UDPConn {
	t.Helper()
	conn, err := net.DialUDP("udp4", nil, to.LocalAddr().(*net.UDPAddr))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { conn.Close() })
	return conn
}

func portOf(conn *net.UDPConn) int { return conn.LocalAddr().(*net.UDPAddr).Port }

// The tracepoint records the length of a packet and the name of its device. Its sender's socket is
// behind the address of the packet.
func TestLiveTheFieldsOfTracepointsLeadToTheKernelsMemory(t *testing.T) {
	needEventProbes(t)
	to := receiver(t)
	from := sender(t, to)
	const n = 40
	out, stderr := besides(t, `tracepoint:net:net_dev_queue {
	$skb = (struct sk_buff *)args.skbaddr;
	$sk = $skb->sk;
	if ($sk->__sk_common.skc_num == $1 && $sk->__sk_common.skc_family == 2) {
		printf("%d %d %s %s %s %d %s %d\n", args.len, $skb->len, str(args.name), $skb->dev->name, str($skb->dev->name), bswap($sk->__sk_common.skc_dport),
			ntop($sk->__sk_common.skc_daddr), $sk->sk_protocol);
	}
}`, func() { datagrams(t, from, n) }, fmt.Sprint(portOf(from)))
	seen := 0
	for i := range n {
		length := 14 + 20 + 8 + 1 + i // with the heads of Ethernet, IP and UDP
		seen += strings.Count(out, fmt.Sprintf("%d %d lo lo lo %d 127.0.0.1 %d\n", length, length, portOf(to), unix.IPPROTO_UDP))
	}
	if lines := strings.Count(out, "\n") - 1; lines != seen || seen < n/2 || seen+unprobed(stderr) < n {
		t.Errorf("%d of %d lines are right, of %d datagrams; %d hits without values\n%s%s", seen, lines, n, unprobed(stderr), out, stderr)
	}
}

// What the kernel filters has no record of an event probe.
func TestLiveEventProbesFilterAsTheirTracepoints(t *testing.T) {
	needEventProbes(t)
	to := receiver(t)
	from := sender(t, to)
	const n, least, but, heads = 60, 62, 70, 14 + 20 + 8 // lengths
	var filters []string
	out, stderr := besides(t, `tracepoint:net:net_dev_queue /args.len > $2 && args.len != $3 && ((struct sk_buff *)args.skbaddr)->sk->__sk_common.skc_num == $1/ {
	printf("%d %d\n", args.len, ((struct sk_buff *)args.skbaddr)->len);
}`, func() {
		datagrams(t, from, n)
		instances, _ := filepath.Glob("/sys/kernel/tracing/instances/*")
		events, _ := os.ReadFile("/sys/kernel/tracing/dynamic_events")
		for _, event := range regexp.MustCompile(`(?m)^e:(\S+/behind0) `).FindAllStringSubmatch(string(events), -1) {
			for _, instance := range instances {
				text, _ := os.ReadFile(filepath.Join(instance, "events", event[1], "filter"))
				filters = append(filters, strings.TrimSpace(string(text)))
			}
		}
	}, fmt.Sprint(portOf(from)), fmt.Sprint(least), fmt.Sprint(but))
	if want := fmt.Sprintf("(!(compared0 <= %d)) && (compared0 != %d)", least, but); !slices.Contains(filters, want) {
		t.Errorf("the filters of event probes are %q, want %q", filters, want)
	}
	seen, want := 0, 0
	for length := heads + 1; length <= heads+n; length++ {
		if length > least && length != but {
			want++
			seen += strings.Count(out, fmt.Sprintf("%d %[1]d\n", length))
		}
	}
	if lines := strings.Count(out, "\n") - 1; lines != seen || seen < want/2 || seen+unprobed(stderr) < want {
		t.Errorf("%d of %d lines are right, want %d; %d hits without values\n%s%s", seen, lines, want, unprobed(stderr), out, stderr)
	}
}

// unprobed is how many hits have no values by what a program says.
func unprobed(stderr string) int { return number(`WARNING: (\d+) of \d+ hits have no values`, stderr) }

// number is the number that a pattern finds in a text, 0 if it finds none.
func number(pattern, text string) int {
	found := regexp.MustCompile(pattern).FindStringSubmatch(text)
	if found == nil {
		return 0
	}
	n, _ := strconv.Atoi(found[1])
	return n
}

// Nobody listens at the port that the datagrams go to. The kernel drops each.
func TestLiveDroppedPacketsAreReadBeforeTheyAreGone(t *testing.T) {
	needEventProbes(t)
	to := receiver(t)
	from := sender(t, to)
	to.Close()
	const n, size = 30, 737
	out, stderr := besides(t, `tracepoint:skb:kfree_skb / args.protocol == 0x0800 / {
	$skb = (struct sk_buff *)args.skbaddr;
	if ($skb->len == 8 + $1) { @drops[$skb->dev->name, $skb->protocol == bswap((uint16)args.protocol)] = count(); }
}`, func() {
		for range n {
			_, _ = from.Write(make([]byte, size)) // every other fails: the drop before it was told
		}
	}, fmt.Sprint(size))
	drops := number(`(?m)^@drops\[lo, true\]: (\d+)$`, out)
	if drops+unprobed(stderr) < n/2 || drops > n || strings.Count(out, "@drops[") != 1 {
		t.Errorf("%d of %d datagrams are dropped: %s%s", drops, n, out, stderr)
	}
}

// At full speed, of threads and of the interrupts between them, each hit has the values of its own
// packet or is counted.
func TestLiveAStormOfPacketsIsJoinedOrCounted(t *testing.T) {
	needEventProbes(t)
	const senders = 3
	n := testlimit.Calls(100_000)
	to := receiver(t)
	var from []*net.UDPConn
	for range senders {
		from = append(from, sender(t, to))
	}
	out, stderr := besides(t, `
tracepoint:net:net_dev_queue { $skb = (struct sk_buff *)args.skbaddr; @queued[args.len == $skb->len && $skb->dev->ifindex > 0] = count(); }
tracepoint:net:netif_receive_skb { @received[args.len == ((struct sk_buff *)args.skbaddr)->len] = count(); }
tracepoint:net:net_dev_start_xmit { @sent[args.len == ((struct sk_buff *)args.skbaddr)->len] = count(); }`, func() {
		var all sync.WaitGroup
		for _, conn := range from {
			all.Go(func() { datagrams(t, conn, n) })
		}
		all.Wait()
	})
	missing := unprobed(stderr)
	lost := number(`(?m)^tracepoint:net:net_dev_queue: \d+ received, (\d+) lost`, stderr)
	queued, wrong := number(`@queued\[true\]: (\d+)`, out), number(`@queued\[false\]: (\d+)`, out)
	wrong += number(`@received\[false\]: (\d+)`, out) + number(`@sent\[false\]: (\d+)`, out)
	if wrong != missing {
		t.Errorf("%d hits have other values, %d none", wrong, missing)
	}
	if queued+missing+lost < senders*n {
		t.Errorf("%d of %d packets, %d without values, %d lost", queued, senders*n, missing, lost)
	}
	if received := number(`@received\[true\]: (\d+)`, out); received+missing == 0 {
		t.Error("no packet is received")
	}
	t.Logf("%s%s", out, stderr)
}
