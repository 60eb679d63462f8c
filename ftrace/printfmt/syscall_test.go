package printfmt

import (
	"encoding/binary"
	"testing"

	"github.com/ringtap/ringtap/ftrace"
)

// commonLines are the fields that all events of system calls have.
const commonLines = `	field:unsigned short common_type;	offset:0;	size:2;	signed:0;
	field:unsigned char common_flags;	offset:2;	size:1;	signed:0;
	field:unsigned char common_preempt_count;	offset:3;	size:1;	signed:0;
	field:int common_pid;	offset:4;	size:4;	signed:1;

	field:int __syscall_nr;	offset:8;	size:4;	signed:1;
`

// syscallFormat is a format as Linux 7.3 has it.
func syscallFormat(t *testing.T, name, fields, print string) *ftrace.Format {
	t.Helper()
	f, err := ftrace.ParseFormat([]byte("name: " + name + "\nID: 1\nformat:\n" + commonLines + fields + "\nprint fmt: " + print + "\n"))
	if err != nil {
		t.Fatal(err)
	}
	f.System = "syscalls"
	return f
}

// syscallRecord makes a record of parameters; texts follow, each where its word says.
func syscallRecord(args []uint64, texts ...string) []byte {
	raw := make([]byte, 16)
	for _, a := range args {
		raw = binary.LittleEndian.AppendUint64(raw, a)
	}
	at := len(raw) + 4*len(texts)
	for _, text := range texts {
		raw = binary.LittleEndian.AppendUint32(raw, uint32(at)|uint32(len(text))<<16)
		at += len(text)
	}
	for _, text := range texts {
		raw = append(raw, text...)
	}
	return raw
}

func TestTextsFollowThePointersOfSystemCalls(t *testing.T) {
	const (
		renameFields = `	field:const char * oldname;	offset:16;	size:8;	signed:0;
	field:const char * newname;	offset:24;	size:8;	signed:0;
	field:__data_loc char[] __oldname_val;	offset:32;	size:4;	signed:0;
	field:__data_loc char[] __newname_val;	offset:36;	size:4;	signed:0;
`
		renamePrint = `"oldname: 0x%08lx \"%s\", newname: 0x%08lx \"%s\"", ((unsigned long)(REC->oldname)), __get_str(__oldname_val), ((unsigned long)(REC->newname)), __get_str(__newname_val)`
		plainPrint  = `"oldname: 0x%08lx, newname: 0x%08lx", ((unsigned long)(REC->oldname)), ((unsigned long)(REC->newname))`
		writeFields = `	field:unsigned int fd;	offset:16;	size:8;	signed:0;
	field:const char * buf;	offset:24;	size:8;	signed:0;
	field:size_t count;	offset:32;	size:8;	signed:0;
	field:__data_loc char[] __buf_val;	offset:40;	size:4;	signed:0;
`
		writePrint  = `"fd: 0x%08lx, buf: 0x%08lx (%s), count: 0x%08lx", ((unsigned long)(REC->fd)), ((unsigned long)(REC->buf)), __print_dynamic_array(__buf_val, 1), ((unsigned long)(REC->count))`
		futexFields = `	field:u32 * uaddr;	offset:16;	size:8;	signed:0;
	field:int nr;	offset:24;	size:8;	signed:0;
`
	)
	for _, test := range []struct {
		name                string
		event, fields, text string
		raw                 []byte
		want                string
	}{
		{"two texts", "sys_enter_rename", renameFields, renamePrint, syscallRecord([]uint64{0x7f01, 0x7f02}, "/a\x00", "/b\x00"),
			`sys_rename(oldname: 0x7f01 "/a", newname: 0x7f02 "/b")`},
		{"hostile text", "sys_enter_rename", renameFields, renamePrint, syscallRecord([]uint64{0x7f01, 0x7f02}, "\x1b[2J\n\x00", "\xff\x00"),
			`sys_rename(oldname: 0x7f01 "\x1b[2J\n", newname: 0x7f02 "\xff")`},
		{"what the kernel could not read", "sys_enter_rename", renameFields, renamePrint, syscallRecord([]uint64{0, 0x7f02}, "", "/b\x00"),
			`sys_rename(oldname: 0 "", newname: 0x7f02 "/b")`},
		{"what we could not read", "sys_enter_rename", renameFields, plainPrint, syscallRecord([]uint64{0, 0x7f02}, "", "/b\x00"),
			`sys_rename(oldname: 0, newname: 0x7f02 "/b")`},
		{"a record that is too short", "sys_enter_rename", renameFields, renamePrint, syscallRecord([]uint64{0x7f01, 0x7f02}),
			`sys_rename(oldname: 0x7f01, newname: 0x7f02)`},
		{"a buffer", "sys_enter_write", writeFields, writePrint, syscallRecord([]uint64{1, 0x7f01, 4}, "a\x00b\n"),
			`sys_write(fd: 1, buf: 0x7f01 "a\x00b\n", count: 4)`},
		{"the begin of a buffer", "sys_enter_write", writeFields, writePrint, syscallRecord([]uint64{1, 0x7f01, 400}, "abc"),
			`sys_write(fd: 1, buf: 0x7f01 "abc"..., count: 0x190)`},
		{"a parameter that is called as the number of the call once was", "sys_enter_futex_wake", futexFields, `"uaddr: 0x%08lx"`,
			syscallRecord([]uint64{0x7f01, 2}), `sys_futex_wake(uaddr: 0x7f01, nr: 2)`},
	} {
		t.Run(test.name, func(t *testing.T) {
			p, err := New(syscallFormat(t, test.event, test.fields, test.text), Options{})
			if err != nil {
				t.Fatal(err)
			}
			if got := string(p.Append(nil, test.raw)); got != test.want {
				t.Errorf("got  %s\nwant %s", got, test.want)
			}
		})
	}
}
