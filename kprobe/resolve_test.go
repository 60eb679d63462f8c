package kprobe

import (
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/ringtap/ringtap/ftrace"
)

// The fixtures are parts of the lists of Debian 12's 6.1 kernels: functions that
// the tests name, and the symbol behind each.
func fixture(arch string) string { return filepath.Join("testdata", arch) }

// tree writes files below a directory of their own.
func tree(t *testing.T, files map[string]string) (root string) {
	t.Helper()
	root = t.TempDir()
	for name, text := range files {
		path := filepath.Join(root, name)
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	return root
}

// resolveText parses and resolves a definition.
func resolveText(text, root, arch string) (*Plan, error) {
	d, err := Parse(text)
	if err != nil {
		return nil, err
	}
	return resolve(d, Options{Root: root}, arch)
}

func mustResolve(t *testing.T, text, root, arch string) *Plan {
	t.Helper()
	p, err := resolveText(text, root, arch)
	if err != nil {
		t.Fatalf("%s on %s: %v", text, arch, err)
	}
	return p
}

func fetches(p *Plan) []string {
	var out []string
	for _, a := range p.Sites[0].Args {
		out = append(out, a.String())
	}
	return out
}

func TestPerfToolsExamplesRunOnBothArchitectures(t *testing.T) {
	for _, test := range []struct {
		text         string
		event        string
		amd64, arm64 []string
	}{
		{"p:do_sys_open", "do_sys_open", nil, nil},
		{"r:do_sys_open", "do_sys_open", nil, nil},
		{"r:myopen do_sys_open $retval", "myopen", []string{"arg1=$retval"}, []string{"arg1=$retval"}},
		{"r:myopen do_sys_open rval=$retval", "myopen", []string{"rval=$retval"}, []string{"rval=$retval"}},
		{"p:myopen do_sys_open mode=%cx:u16", "myopen", []string{"mode=%cx:u16"}, []string{"mode=%x3:u16"}},
		{"p:myopen do_sys_open filename=+0(%si):string", "myopen", []string{"filename=+0(%si):string"}, []string{"filename=+0(%x1):string"}},
		{"p:myprobe bio_alloc_bioset %ax %bx %cx %dx", "myprobe", []string{"arg1=%ax", "arg2=%bx", "arg3=%cx", "arg4=%dx"}, []string{"arg1=%x9", "arg2=%x19", "arg3=%x3", "arg4=%x2"}},
		{"p:myprobe bio_alloc_bioset %ax:u32", "myprobe", []string{"arg1=%ax:u32"}, []string{"arg1=%x9:u32"}},
		{"p:myprobe bio_alloc_bioset ax=%ax", "myprobe", []string{"ax=%ax"}, []string{"ax=%x9"}},
		{"r:myprobe bio_alloc_bioset $retval", "myprobe", []string{"arg1=$retval"}, []string{"arg1=$retval"}},
		{"p:mytcp tcp_init_cwnd", "mytcp", nil, nil},
		{"p:myprobe tcp_retransmit_skb", "myprobe", nil, nil},
		{"p:do_sys_open file=+0(%si):string", "do_sys_open", []string{"file=+0(%si):string"}, []string{"file=+0(%x1):string"}},
	} {
		for arch, want := range map[string][]string{"amd64": test.amd64, "arm64": test.arm64} {
			p := mustResolve(t, test.text, fixture(arch), arch)
			if len(p.Sites) != 1 || p.Name() != test.event || !slices.Equal(fetches(p), want) {
				t.Errorf("%s on %s: %+v; want event %s, %q", test.text, arch, p.Sites, test.event, want)
			}
			if foreign := arch == "arm64" && strings.Contains(test.text, "%"); foreign != slices.ContainsFunc(p.Notes, func(n string) bool { return strings.Contains(n, "amd64 registers") }) {
				t.Errorf("%s on %s: notes %q", test.text, arch, p.Notes)
			}
		}
	}
}

func TestAFunctionThatIsGoneIsToldByItsNameOfToday(t *testing.T) {
	for _, test := range []struct {
		name  string
		today []string
	}{
		{"bio_alloc", []string{"bio_alloc_bioset"}},
		{"finish_task_switch", []string{"finish_task_switch.isra.0"}},
		{"do_execve", []string{"do_execveat_common.isra.0"}},
		{"do_fork", []string{"kernel_clone"}},
		{"account_page_dirtied", []string{"__folio_mark_dirty"}},
		{"sys_open", []string{"__x64_sys_open"}},
		{"SyS_execve", []string{"__x64_sys_execve"}},
	} {
		_, err := resolveText("p:"+test.name, fixture("amd64"), "amd64")
		var e *SymbolError
		if !errors.As(err, &e) || !slices.Equal(e.Today, test.today) || !strings.Contains(err.Error(), test.today[0]) {
			t.Errorf("%s: %v; want %q", test.name, err, test.today)
		}
	}
	if _, err := resolveText("p:sys_execve", fixture("arm64"), "arm64"); err == nil || !strings.Contains(err.Error(), "__arm64_sys_execve") {
		t.Errorf("sys_execve on arm64: %v", err)
	}
}

func TestWhatCantBeProbedIsExplained(t *testing.T) {
	for _, test := range []struct{ name, message string }{
		{"__schedule", "notrace"},
		{"__schedule", "tpoint sched:sched_switch"},
		{"do_int3", "blacklist"},
		{"get_kprobe", "blacklist"},
		{"exc_page_fault", "noinstr"},
		{"asm_exc_page_fault", "enters the kernel"},
	} {
		_, err := resolveText("p:"+test.name, fixture("amd64"), "amd64")
		var e *BlacklistedError
		if !errors.As(err, &e) || !strings.Contains(err.Error(), test.message) {
			t.Errorf("%s: %v; want %q", test.name, err, test.message)
		}
		d, _ := Parse("p:" + test.name)
		if p, err := resolve(d, Options{Root: fixture("amd64"), Force: true}, "amd64"); err != nil || p.Sites[0].Symbol != test.name {
			t.Errorf("%s, forced: %+v, %v", test.name, p, err)
		}
	}
	for _, test := range []struct{ text, message string }{
		{"p:jiffies", "it is a variable: fetch it in another probe as @jiffies"},
		{"p:vfs_raed", "did you mean vfs_read"},
		{"p:tcp_retransmit", "did you mean tcp_retransmit_skb"},
		{"p:nfs:nfs_open", "module nfs is not loaded: modprobe nfs first"},
		{"p:no_such_*", "no function of the kernel matches no_such_*"},
		{"p:\"vfs_*\"", "no function vfs_*"},
		{"p:vfs_read x=@jiffis", "no variable jiffis"},
		{"p:vfs_read path->x", "BTF"},
		{"p:vfs_read $retval", "return probe"},
		{"r:vfs_read $arg1", "gone"},
		{"p:vfs_read+4 $arg1", "first instruction"},
		{"p:vfs_read %foo", "no register %foo"},
		{"p:vfs_read+0x99999", "0x310 bytes"},
		{"p:0x10", "no function"},
	} {
		_, err := resolveText(test.text, fixture("amd64"), "amd64")
		if err == nil || !strings.Contains(err.Error(), test.message) {
			t.Errorf("%s: %v; want %q", test.text, err, test.message)
		}
	}
	if _, err := resolveText("p:vfs_read x=@jiffies", fixture("arm64"), "arm64"); err == nil || !strings.Contains(err.Error(), "KALLSYMS_ALL") {
		t.Errorf("a variable that the kernel does not list: %v", err)
	}
}

func TestAnArgumentIsPointedAt(t *testing.T) {
	const text = "p:vfs_read a=%di b=$retval"
	_, err := resolveText(text, fixture("amd64"), "amd64")
	var e *ftrace.SyntaxError
	if !errors.As(err, &e) || e.Text != text || text[e.Pos:] != "b=$retval" {
		t.Errorf("%v", err)
	}
}

func TestFunctionsOfOneNameAreSitesByAddress(t *testing.T) {
	root := tree(t, map[string]string{
		"proc/kallsyms": "ffffffff81000000 T a\nffffffff81000100 t same\nffffffff81000200 T b\nffffffff81000300 t same\nffffffff81000400 T c\n" +
			"ffffffff81000500 t same\nffffffff81000600 T d\n",
		"sys/kernel/tracing/available_filter_functions": "a\nsame\nb\nc\nsame\nd\n",
	})
	for _, test := range []struct {
		text   string
		places []string
		whole  string
	}{
		{"p:same", []string{"0xffffffff81000100", "0xffffffff81000500"}, "p:same 0xffffffff81000100 and 1 more"},
		{"p:x sam?", []string{"0xffffffff81000100", "0xffffffff81000500"}, "p:x 0xffffffff81000100 and 1 more"},
	} {
		p := mustResolve(t, test.text, root, "amd64")
		var got []string
		for i, s := range p.Sites {
			got = append(got, s.Place())
			if s.Symbol != "" || s.Function.Name != "same" || i > 0 && s.Event != p.Name()+"_1" {
				t.Errorf("site %d: %+v", i, s)
			}
		}
		if !slices.Equal(got, test.places) || p.String() != test.whole || !strings.Contains(p.Notes[0], "1 of the 3 functions") {
			t.Errorf("%s: %q, %s, %q; want %q, %s", test.text, got, p, p.Notes, test.places, test.whole)
		}
	}
}

// Of several names of one address the function tracer's list has one.
func TestAnotherNameOfATraceableFunctionCanBeProbed(t *testing.T) {
	root := tree(t, map[string]string{
		"proc/kallsyms": "ffffffff81000000 T before\nffffffff81000010 T __ia32_sys_sync\nffffffff81000010 T __x64_sys_sync\nffffffff81000020 t notrace\nffffffff81000020 t notrace_too\nffffffff81000030 T after\n",
		"sys/kernel/tracing/available_filter_functions": "before\n__ia32_sys_sync\nafter\n",
	})
	for _, text := range []string{"p:__x64_sys_sync", "p:__ia32_sys_sync", "p:0xffffffff81000010", "p:*_sys_sync"} {
		mustResolve(t, text, root, "amd64")
	}
	var refused *BlacklistedError
	if _, err := resolveText("p:notrace_too", root, "amd64"); !errors.As(err, &refused) {
		t.Errorf("what has no traceable name: %v", err)
	}
}

func TestAPatternIsAllItsFunctions(t *testing.T) {
	p := mustResolve(t, "r:vfs_[rw]* $retval", fixture("amd64"), "amd64")
	var got []string
	for _, s := range p.Sites {
		if !s.Return || len(s.Args) != 1 || s.Event != s.Symbol {
			t.Errorf("%+v", s)
		}
		got = append(got, s.Symbol)
	}
	want := []string{"vfs_read", "vfs_readlink", "vfs_readv", "vfs_removexattr", "vfs_rename", "vfs_rmdir", "vfs_write", "vfs_writev"}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("want -, got +:\n%s", diff)
	}
	d, _ := Parse("p:vfs_*")
	_, err := resolve(d, Options{Root: fixture("amd64"), MaxSites: 3}, "amd64")
	var many *TooManyError
	if !errors.As(err, &many) || many.Max != 3 || many.Count < 40 {
		t.Errorf("more than are allowed: %v", err)
	}
	p = mustResolve(t, "p:mine vfs_re*v", fixture("amd64"), "amd64")
	if p.String() != "p:mine vfs_readv" {
		t.Errorf("%s", p)
	}
	p = mustResolve(t, "p:*_switch*", fixture("amd64"), "amd64")
	if len(p.Sites) != 1 || p.Name() != "finish_task_switch_isra_0" {
		t.Errorf("what is cold is left out: %+v", p.Sites)
	}
}

func TestAFunctionIsExactUnlessItIsAPattern(t *testing.T) {
	p := mustResolve(t, "p:getname", fixture("amd64"), "amd64")
	if len(p.Sites) != 1 || p.Sites[0].Symbol != "getname" {
		t.Errorf("%+v", p.Sites)
	}
}

func TestWhatSurprisesIsNoted(t *testing.T) {
	for _, test := range []struct{ text, note string }{
		{"p:do_sys_open", "probe do_sys_openat2"},
		{"p:mark_page_accessed", "probe folio_mark_accessed"},
		{"p:add_to_page_cache_lru", "probe filemap_add_folio"},
		{"p:try_to_wake_up", "at every wakeup"},
		{"p:finish_task_switch.isra.0 %di", "the compiler's clone of finish_task_switch"},
		{"p:__x64_sys_openat %di", "+0x70($arg1), +0x68($arg1)"},
		{"r:getname_flags.part.0", "a part of getname_flags"},
		{"p:getname_flags", "probe getname_flags.part.0 to see those too"},
	} {
		p := mustResolve(t, test.text, fixture("amd64"), "amd64")
		if !strings.Contains(strings.Join(p.Notes, "\n"), test.note) {
			t.Errorf("%s: %q; want %q", test.text, p.Notes, test.note)
		}
	}
	if p := mustResolve(t, "p:vfs_read", fixture("amd64"), "amd64"); len(p.Notes) > 0 {
		t.Errorf("vfs_read: %q", p.Notes)
	}
}

func TestAnOffsetOrAnAddressIsASite(t *testing.T) {
	p := mustResolve(t, "p:vfs_read+0x8 %si", fixture("amd64"), "amd64")
	s := p.Sites[0]
	if s.Place() != "vfs_read+8" || s.Address == 0 || s.Event != "vfs_read_0x8" || p.String() != "p:vfs_read_0x8 vfs_read+8 %si" {
		t.Errorf("%+v, %s", s, p)
	}
	entry := mustResolve(t, "p:vfs_read", fixture("amd64"), "amd64").Sites[0]
	if s.Address != entry.Address+8 {
		t.Errorf("%#x, and the function is at %#x", s.Address, entry.Address)
	}
	text := "p:there " + (&Site{Address: entry.Address + 8}).Place()
	p = mustResolve(t, text, fixture("amd64"), "amd64")
	if s = p.Sites[0]; s.Symbol != "" || s.Address != entry.Address+8 || s.Offset != 8 || s.Function.Name != "vfs_read" || s.Event != "there" {
		t.Errorf("%s: %+v", text, s)
	}
	if _, err := resolveText("r"+text[1:], fixture("amd64"), "amd64"); err == nil || !strings.Contains(err.Error(), "vfs_read+0x8") {
		t.Errorf("a return probe behind the start: %v", err)
	}
	if _, err := resolveText("p:vfs_read+2", fixture("arm64"), "arm64"); err == nil || !strings.Contains(err.Error(), "every four bytes") {
		t.Errorf("within an instruction of arm64: %v", err)
	}
}

func TestAModulesFunctionHasItsModule(t *testing.T) {
	root := tree(t, map[string]string{
		"proc/kallsyms": "ffffffff81000000 T vfs_read\nffffffff81000100 t helper\nffffffff81000200 T last\n" +
			"ffffffffc0000000 t nfs_open\t[nfs]\nffffffffc0000100 t helper\t[nfs]\nffffffffc0000200 t helper\t[snd_hda]\nffffffffc0000300 t prog\t[bpf]\n",
		"proc/sys/kernel/osrelease":                     "6.1.0\n",
		"lib/modules/6.1.0/modules.builtin":             "kernel/fs/ext4/ext4.ko\n",
		"sys/kernel/tracing/available_filter_functions": "vfs_read\nhelper\nnfs_open [nfs]\nhelper [nfs]\nhelper [snd_hda]\n",
	})
	for _, test := range []struct {
		text   string
		places []string
	}{
		{"p:nfs_open", []string{"nfs:nfs_open"}},
		{"p:nfs:nfs_open+4", []string{"nfs:nfs_open+4"}},
		{"p:nfs:*", []string{"nfs:helper", "nfs:nfs_open"}},
		{"p:snd-hda:helper", []string{"snd_hda:helper"}},
		{"p:helper", []string{"0xffffffff81000100", "nfs:helper", "snd_hda:helper"}},
	} {
		p := mustResolve(t, test.text, root, "amd64")
		var got []string
		for _, s := range p.Sites {
			got = append(got, s.Place())
		}
		if !slices.Equal(got, test.places) {
			t.Errorf("%s is at %q; want %q", test.text, got, test.places)
		}
	}
	for _, test := range []struct{ text, message string }{
		{"p:ext4:ext4_open", "module ext4 is built into this kernel"},
		{"p:xfs:xfs_open", "modprobe xfs"},
		{"p:xfs:nfs_open", "today it is nfs:nfs_open (module xfs is not loaded"},
		{"p:nfs:nfs_opn", "did you mean nfs_open"},
		{"p:prog", "BPF program"},
	} {
		if _, err := resolveText(test.text, root, "amd64"); err == nil || !strings.Contains(err.Error(), test.message) {
			t.Errorf("%s: %v; want %q", test.text, err, test.message)
		}
	}
}

func TestAParameterIsNoFunction(t *testing.T) {
	d, err := Parse("p:vfs_read count buf:x64")
	if err != nil {
		t.Fatal(err)
	}
	p, err := resolve(d, Options{Root: fixture("amd64"), Types: fakeTypes{}}, "arm64")
	if err != nil {
		t.Fatal(err)
	}
	if p.Sites[0].Symbol != "vfs_read" || p.Name() != "vfs_read" || !slices.Equal(fetches(p), []string{"count=%x0:u8", "buf=%x0:x64"}) {
		t.Errorf("%+v", p.Sites)
	}
	d, _ = Parse("p:vfs_raed count")
	_, err = resolve(d, Options{Root: fixture("amd64"), Types: fakeTypes{}}, "amd64")
	var e *SymbolError
	if !errors.As(err, &e) || e.Name != "count" || !slices.Contains(e.AliasNear, "vfs_read") {
		t.Errorf("%v; want what perf-tools would say, and the mistake that it does not see", err)
	}
	// A pattern of perf-tools' is what a parameter points to where the alias is a
	// function.
	for text, place := range map[string]string{"p:vfs_read *pos": "vfs_read", "p:mine *fs_read": "vfs_read", "p:vfs_read pos.x": "vfs_read"} {
		d, err := Parse(text)
		if err != nil {
			t.Fatal(err)
		}
		p, err := resolve(d, Options{Root: fixture("amd64"), Types: fakeTypes{}}, "amd64")
		if err != nil || p.Sites[0].Symbol != place || (len(p.Sites[0].Args) == 0) != (p.Name() == "mine") {
			t.Errorf("%s: %+v, %v", text, p, err)
		}
	}
	d, _ = Parse("p:vfs_read count:u17")
	if _, err = resolve(d, Options{Root: fixture("amd64"), Types: fakeTypes{}}, "amd64"); err == nil || !strings.Contains(err.Error(), "u17") || errors.As(err, &e) {
		t.Errorf("a type that there is not: %v", err)
	}
}

// The kernel takes no name that a variable has as well: Debian's 6.1.176 has two
// kern_path.
func TestAFunctionThatSharesItsNameIsProbedByItsAddress(t *testing.T) {
	root := tree(t, map[string]string{"proc/kallsyms": "ffffffff81000000 T _stext\nffffffff81035f50 T kern_path\nffffffff81135f50 T user_path\nffffffffa1b38460 d kern_path\n"})
	for _, text := range []string{"p:kern_path", "p:*_path"} {
		if p := mustResolve(t, text, root, "amd64"); p.Sites[0].Place() != "0xffffffff81035f50" || p.Sites[0].Event != "kern_path" {
			t.Errorf("%s: %+v", text, p.Sites[0])
		}
	}
}

// fakeTypes says that every parameter is the first one.
type fakeTypes struct{}

func (fakeTypes) Fetch(f Function, isReturn bool, a Arg) ([]ftrace.FetchArg, error) {
	if strings.Contains(a.Path, "wrong") {
		return nil, &ftrace.SyntaxError{Text: a.Path, Pos: strings.Index(a.Path, "wrong"), Message: "no member wrong"}
	}
	if a.Fetch.Type == "" {
		a.Fetch.Type = "u8"
	}
	if a.Fetch.Name == "" {
		a.Fetch.Name = a.Path[strings.LastIndexAny(a.Path, ".>")+1:]
	}
	a.Fetch.Fetch = "$arg1"
	return []ftrace.FetchArg{a.Fetch}, nil
}

func TestAMemberThatIsNotThereIsPointedAt(t *testing.T) {
	const text = "p:vfs_read a=file->wrong:u8 b=file"
	d, err := Parse(text)
	if err != nil {
		t.Fatal(err)
	}
	_, err = resolve(d, Options{Root: fixture("amd64"), Types: fakeTypes{}}, "amd64")
	var e *ftrace.SyntaxError
	if !errors.As(err, &e) || e.Text != text || text[e.Pos:] != "wrong:u8 b=file" {
		t.Errorf("%v", err)
	}
	d, _ = Parse("p:vfs_read a->name b->name c->name x=d->name")
	p, err := resolve(d, Options{Root: fixture("amd64"), Types: fakeTypes{}}, "amd64")
	if err != nil || !slices.Equal(fetches(p), []string{"name=%di:u8", "name_2=%di:u8", "name_3=%di:u8", "x=%di:u8"}) {
		t.Errorf("%+v, %v", p, err)
	}
}

func TestAKernelThatHidesItsAddressesIsProbedByName(t *testing.T) {
	root := tree(t, map[string]string{"proc/kallsyms": "0000000000000000 T vfs_read\n0000000000000000 t twice\n0000000000000000 t twice\n"})
	if p := mustResolve(t, "p:vfs_read+4", root, "amd64"); p.Sites[0].Place() != "vfs_read+4" || p.Sites[0].Address != 0 {
		t.Errorf("%+v", p.Sites)
	}
	for _, text := range []string{"p:twice", "p:0xffffffff81000000"} {
		if _, err := resolveText(text, root, "amd64"); !errors.Is(err, ErrAddressesHidden) {
			t.Errorf("%s: %v", text, err)
		}
	}
}

func TestAKernelWithoutListsIsAskedItself(t *testing.T) {
	p := mustResolve(t, "p:m:vfs_read+4", t.TempDir(), "amd64")
	if p.Sites[0].Place() != "m:vfs_read+4" || len(p.Notes) != 1 || !strings.Contains(p.Notes[0], "CONFIG_KALLSYMS") {
		t.Errorf("%+v", p)
	}
	p = mustResolve(t, "p:0xffffffff81000000", t.TempDir(), "amd64")
	if p.Sites[0].Place() != "0xffffffff81000000" || p.Name() != "p_0xffffffff81000000" {
		t.Errorf("%+v", p)
	}
	if _, err := resolveText("p:vfs_*", t.TempDir(), "amd64"); err == nil {
		t.Error("a pattern of nothing")
	}
}

// Options say where the kernel is, and its types are found there.
func TestOptionsWithoutTypesMeanTheKernelsOwn(t *testing.T) {
	root := t.TempDir()
	types, err := filepath.Abs("testdata/types/sys")
	if err != nil {
		t.Fatal(err)
	}
	if err := errors.Join(os.Symlink(types, filepath.Join(root, "sys")), os.Mkdir(filepath.Join(root, "proc"), 0o755),
		os.WriteFile(filepath.Join(root, "proc/kallsyms"), []byte("ffffffff81000000 T pointers\nffffffff81000100 T other\n"), 0o644)); err != nil {
		t.Fatal(err)
	}
	p, err := resolveText("p:pointers item->mood", root, "amd64")
	if err != nil {
		t.Fatal(err)
	}
	if got := p.Sites[0].Args; len(got) != 1 || got[0].String() != "mood=+156(%di):s32" {
		t.Errorf("arguments %v", got)
	}
}
