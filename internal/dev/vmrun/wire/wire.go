// Package wire is the protocol between the VM runner and its guest: a specification
// in the guest's file system, and messages over two virtio ports.
package wire

// SpecFile is where the guest finds its Spec, as JSON.
const SpecFile = "/vm.json"

// Names of the virtio ports.
const (
	ControlPort = "ringtap.control" // a stream of FromGuest and one of ToGuest, for the life of the guest
	ToolsPort   = "ringtap.tools"   // one ToolRequest at a time, followed by its ToolAnswer
)

// Spec says what the guest does.
type Spec struct {
	Modules []string // kernel modules to load, in order
	Env     []string // environment of everything that runs
	Shared  string   // the directory for temporary files, the same path in the guest and on the host
	Tools   []string // commands that the host runs for the guest
	Tests   []Test   // run one after another; if empty, the guest runs Command
	Command Command
}

// Test is a test binary.
type Test struct {
	Package string   // import path
	Path    string   // of the binary
	Dir     string   // working directory
	Args    []string // in addition to the arguments that make its output readable
	Seconds int      // time limit, after which it is ended
}

// Command is a command line.
type Command struct {
	Args       []string
	Dir        string
	Terminal   bool // use the guest's console as its terminal; else FromGuest and ToGuest carry its streams
	Rows, Cols uint16
}

// Kind is the kind of a message from the guest.
type Kind string

// The kinds of FromGuest, and which fields they use.
const (
	Up     Kind = "up"     // the system is prepared, and the tests or the command start now
	Output Kind = "output" // Data: written by the running program
	Error  Kind = "error"  // Data: written by the running program to its standard error
	Ended  Kind = "ended"  // Test, Text: this test binary ended, and how; all of its output was sent before
	Exit   Kind = "exit"   // Code: the command's exit code, 0 after tests; the guest is done
	Broken Kind = "broken" // Text: why the guest cannot go on
)

// FromGuest is a message to the host.
type FromGuest struct {
	Kind Kind
	Data []byte
	Text string
	Test int // index in Spec.Tests
	Code int
}

// ToGuest is a message to the guest: input for the command, or the new size of its
// terminal.
type ToGuest struct {
	Input      []byte
	End        bool
	Rows, Cols uint16
}

// ToolRequest asks the host to run a command, one of Spec.Tools.
type ToolRequest struct {
	ID    uint64
	Args  []string
	Dir   string
	Env   []string
	Stdin []byte
	Files []File // files of the shared directory that the command may read
}

// ToolAnswer is the result of the command.
type ToolAnswer struct {
	ID             uint64
	Stdout, Stderr []byte
	Code           int
	Files          []File // files of the shared directory that it wrote
}

// File is a file with its content.
type File struct {
	Path string
	Mode uint32
	Data []byte
}
