package descriptors

import (
	"encoding/binary"
	"encoding/hex"
	"net/netip"
	"strconv"
	"strings"
)

// socket describes the socket with this inode.
func (t *Table) socket(inode string) string {
	if t.sockets == nil {
		t.sockets = make(map[string]string)
		for _, protocol := range []string{"tcp", "tcp6", "udp", "udp6", "udplite", "udplite6", "raw", "raw6", "icmp", "icmp6"} {
			t.internet(protocol, t.read(protocol))
		}
		t.unix(t.read("unix"))
		for _, protocol := range []string{"netlink", "packet"} {
			t.other(protocol, t.read(protocol))
		}
	}
	if name := t.sockets[inode]; name != "" {
		return name
	}
	return "socket " + inode
}

// read returns a file of /proc/PID/net, or "" if it cannot be read.
func (t *Table) read(name string) string {
	text, err := t.host.Read(t.pid, "net/"+name)
	if err != nil {
		return ""
	}
	return string(text)
}

// lines calls f with the fields of each line, except the heading.
func lines(text string, f func(fields []string)) {
	first := true
	for line := range strings.Lines(text) {
		if !first {
			f(strings.Fields(line))
		}
		first = false
	}
}

// states are the states of TCP (net/tcp_states.h). A connected datagram socket is in the first one,
// an unconnected one in the seventh.
var states = [...]string{1: "established", "syn sent", "syn received", "fin wait 1", "fin wait 2", "time wait", "closed", "close wait", "last ack", "listening", "closing"}

// internet parses the sockets of a protocol (proc_pid_net(5)): "sl: local remote state queues timer
// retransmits uid timeout inode …".
func (t *Table) internet(protocol, text string) {
	lines(text, func(fields []string) {
		if len(fields) < 10 {
			return
		}
		local, ok := endpoint(fields[1])
		remote, ok2 := endpoint(fields[2])
		state, err := strconv.ParseUint(fields[3], 16, 8)
		if !ok || !ok2 || err != nil || state >= uint64(len(states)) {
			return
		}
		name := strings.TrimSuffix(protocol, "6") + " " + local.String()
		if remote.Port() != 0 {
			name += " ↔ " + remote.String()
		}
		if strings.HasPrefix(protocol, "tcp") && states[state] != "established" {
			name += " " + states[state]
		}
		t.sockets[fields[9]] = name
	})
}

// endpoint parses "0100007F:1F90": the address as words in native byte order, and the port as a
// number.
func endpoint(text string) (netip.AddrPort, bool) {
	address, port, _ := strings.Cut(text, ":")
	bytes, err := hex.DecodeString(address)
	number, err2 := strconv.ParseUint(port, 16, 16)
	if err != nil || err2 != nil || len(bytes)%4 != 0 {
		return netip.AddrPort{}, false
	}
	for i := 0; i < len(bytes); i += 4 {
		binary.NativeEndian.PutUint32(bytes[i:], binary.BigEndian.Uint32(bytes[i:]))
	}
	addr, ok := netip.AddrFromSlice(bytes)
	return netip.AddrPortFrom(addr.Unmap(), uint16(number)), ok
}

// Numbers in /proc/net/unix: socket types, and the flag of a listening socket.
var unixTypes = map[string]string{"0001": "stream", "0002": "datagram", "0005": "packet"}

const unixListens = 1 << 16

// unix parses the Unix domain sockets: "Num: refs protocol flags type state inode path".
func (t *Table) unix(text string) {
	lines(text, func(fields []string) {
		if len(fields) < 7 {
			return
		}
		name := "unix " + unixTypes[fields[4]]
		if len(fields) > 7 {
			name += " " + strings.Join(fields[7:], " ")
		}
		if flags, err := strconv.ParseUint(fields[3], 16, 32); err == nil && flags&unixListens != 0 {
			name += " listening"
		}
		t.sockets[fields[6]] = name
	})
}

// other parses the sockets of a protocol whose file contains little more than the inode.
func (t *Table) other(protocol, text string) {
	column := map[string]int{"netlink": 9, "packet": 8}[protocol]
	lines(text, func(fields []string) {
		if column < len(fields) {
			t.sockets[fields[column]] = protocol
		}
	})
}
