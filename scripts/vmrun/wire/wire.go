// Package wire is what the VM runner and its guest say to each other: a
// specification that lies in the guest's file system, and messages over two
// virtio ports.
package wire

// SpecFile is where the guest finds its Spec, as JSON.
const SpecFile = "/vm.json"

// Names of the virtio ports.
const (
	ControlPort = "ringtap.control" // one stream of FromGuest and of ToGuest for the life of the guest
	ToolsPort   = "ringtap.tools"   // one ToolRequest and its ToolAnswer at a time
)

// Spec says what the guest does.
type Spec struct {
	Modules []string // kernel modules to load, in order
	Env     []string // for everything that runs
	Shared  string   // the directory for temporary files, the same path in the guest and on the host
	Tools   []string // commands that the host runs for the guest
	Tests   []Test   // run one after another; none: Command is run
	Command Command
}

// Test is a test binary.
type Test struct {
	Package string   // import path
	Path    string   // of the binary
	Dir     string   // to run it in
	Args    []string // in addition to those that make its output readable
	Seconds int      // after so many it is killed
}

// Command is a command line.
type Command struct {
	Args       []string
	Dir        string
	Terminal   bool // on the guest's console; else through FromGuest and ToGuest
	Rows, Cols uint16
}

// Kind is what a message from the guest says.
type Kind string

// The kinds of FromGuest, and which fields they use.
const (
	Up     Kind = "up"     // the system is prepared, what was asked for begins
	Output Kind = "output" // Data: the running program wrote it
	Error  Kind = "error"  // Data: to its standard error
	Ended  Kind = "ended"  // Test, Text: that test binary ended, and how; all of its output was sent before
	Exit   Kind = "exit"   // Code: the command's exit code, 0 after tests; the guest has nothing more to do
	Broken Kind = "broken" // Text: why the guest cannot do what it was told
)

// FromGuest is a message to the host.
type FromGuest struct {
	Kind Kind
	Data []byte
	Text string
	Test int // index in Spec.Tests
	Code int
}

// ToGuest is a message to the guest: what the command reads, or the new size of
// its terminal.
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
	Files []File // of the shared directory, which the command may read
}

// ToolAnswer is what the command did.
type ToolAnswer struct {
	ID             uint64
	Stdout, Stderr []byte
	Code           int
	Files          []File // of the shared directory that it wrote
}

// File is a file with its whole content.
type File struct {
	Path string
	Mode uint32
	Data []byte
}
