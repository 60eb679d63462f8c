package kprobe

import (
	"fmt"
	"slices"
	"strings"
)

// renames maps functions that people probe to their replacements in later kernels, the latest
// last. Only replacements that the running kernel has are suggested.
var renames = map[string]struct {
	to    []string
	since string // Linux version of the first change
}{
	"do_sys_open":                {[]string{"do_sys_openat2"}, "5.6"},
	"do_execve":                  {[]string{"do_execveat_common", "do_execveat_common.isra.0", "bprm_execve"}, "3.19"},
	"do_execve_common":           {[]string{"do_execveat_common", "do_execveat_common.isra.0", "bprm_execve"}, "3.19"},
	"do_fork":                    {[]string{"_do_fork", "kernel_clone"}, "4.2"},
	"_do_fork":                   {[]string{"kernel_clone"}, "5.10"},
	"getname":                    {[]string{"getname_flags"}, "6.15"},
	"bio_alloc":                  {[]string{"bio_alloc_bioset"}, "5.18"},
	"generic_make_request":       {[]string{"submit_bio_noacct"}, "5.9"},
	"blk_account_io_start":       {[]string{"__blk_account_io_start"}, "5.16"},
	"blk_account_io_done":        {[]string{"__blk_account_io_done"}, "5.16"},
	"blk_account_io_completion":  {[]string{"blk_account_io_done", "__blk_account_io_done", "blk_update_request"}, "5.16"},
	"blk_start_request":          {[]string{"blk_mq_start_request"}, "5.0"},
	"account_page_dirtied":       {[]string{"folio_account_dirtied", "__folio_mark_dirty"}, "5.16"},
	"add_to_page_cache_lru":      {[]string{"filemap_add_folio"}, "5.16"},
	"add_to_page_cache":          {[]string{"filemap_add_folio"}, "5.16"},
	"__add_to_page_cache_locked": {[]string{"__filemap_add_folio"}, "5.16"},
	"mark_page_accessed":         {[]string{"folio_mark_accessed"}, "5.16"},
	"set_page_dirty":             {[]string{"folio_mark_dirty"}, "5.16"},
	"__set_page_dirty":           {[]string{"__folio_mark_dirty"}, "5.16"},
	"end_page_writeback":         {[]string{"folio_end_writeback"}, "5.16"},
	"lru_cache_add":              {[]string{"folio_add_lru"}, "5.16"},
	"activate_page":              {[]string{"folio_activate"}, "5.16"},
	"__lock_page":                {[]string{"__folio_lock"}, "5.16"},
	"unlock_page":                {[]string{"folio_unlock"}, "5.16"},
	"__put_page":                 {[]string{"__folio_put"}, "5.18"},
	"wait_on_page_bit":           {[]string{"folio_wait_bit"}, "5.16"},
	"wait_on_page_writeback":     {[]string{"folio_wait_writeback"}, "5.16"},
	"delete_from_page_cache":     {[]string{"filemap_remove_folio"}, "5.18"},
	"__delete_from_page_cache":   {[]string{"__filemap_remove_folio"}, "5.17"},
	"pagecache_get_page":         {[]string{"__filemap_get_folio", "__filemap_get_folio_mpol"}, "5.16"},
	"find_get_entry":             {[]string{"filemap_get_entry", "__filemap_get_folio"}, "5.11"},
	"shrink_page_list":           {[]string{"shrink_folio_list"}, "6.1"},
	"ondemand_readahead":         {[]string{"page_cache_ra_order", "page_cache_async_ra"}, "6.11"},
	"__do_page_cache_readahead":  {[]string{"page_cache_ra_unbounded", "do_page_cache_ra"}, "5.8"},
	"page_cache_sync_readahead":  {[]string{"page_cache_sync_ra"}, "5.11"},
	"page_cache_async_readahead": {[]string{"page_cache_async_ra"}, "5.11"},
	"generic_file_aio_read":      {[]string{"generic_file_read_iter"}, "3.16"},
	"generic_file_aio_write":     {[]string{"generic_file_write_iter"}, "3.16"},
	"generic_file_splice_read":   {[]string{"filemap_splice_read"}, "6.5"},
	"generic_file_buffered_read": {[]string{"filemap_read"}, "5.12"},
	"do_sync_read":               {[]string{"new_sync_read", "vfs_read"}, "3.16"},
	"do_sync_write":              {[]string{"new_sync_write", "vfs_write"}, "3.16"},
	"__vfs_read":                 {[]string{"vfs_read"}, "5.8"},
	"__vfs_write":                {[]string{"vfs_write"}, "5.8"},
	"ext4_file_write":            {[]string{"ext4_file_write_iter"}, "3.16"},
	"do_mount":                   {[]string{"path_mount"}, "5.9"},
	"do_munmap":                  {[]string{"do_vmi_munmap"}, "6.2"},
	"__do_munmap":                {[]string{"do_vmi_align_munmap", "do_vmi_munmap"}, "6.2"},
	"__do_page_fault":            {[]string{"do_user_addr_fault", "handle_mm_fault"}, "5.8"},
	"do_page_fault":              {[]string{"do_user_addr_fault", "handle_mm_fault"}, "5.8"},
	"__do_softirq":               {[]string{"handle_softirqs"}, "6.10"},
	"del_timer":                  {[]string{"timer_delete"}, "6.15"},
	"del_timer_sync":             {[]string{"timer_delete_sync"}, "6.15"},
	"kfree_skb":                  {[]string{"kfree_skb_reason", "sk_skb_reason_drop"}, "5.17"},
	"__kfree_skb":                {[]string{"sk_skb_reason_drop"}, "6.11"},
	"kmem_cache_alloc_trace":     {[]string{"kmalloc_trace", "__kmalloc_cache_noprof"}, "6.1"},
	"kmalloc_trace":              {[]string{"__kmalloc_cache_noprof"}, "6.10"},
	"__alloc_pages_nodemask":     {[]string{"__alloc_pages", "__alloc_pages_noprof"}, "5.13"},
	"alloc_pages_current":        {[]string{"alloc_pages", "alloc_pages_noprof"}, "5.13"},
	"ttwu_do_wakeup":             {[]string{"ttwu_do_activate", "ttwu_do_activate.isra.0"}, "6.3"},
	"tcp_drop":                   {[]string{"tcp_drop_reason"}, "5.18"},
	"swap_readpage":              {[]string{"swap_read_folio"}, "6.8"},
	"migrate_misplaced_page":     {[]string{"migrate_misplaced_folio"}, "6.7"},
	"pick_next_task_fair":        {[]string{"pick_task_fair"}, "6.12"},
}

// systemCall cuts the prefixes that kernels have used for system calls: sys_open, SyS_open (up
// to 4.16), stub_execve (up to 4.1), ksys_read.
func systemCall(name string) (call string, ok bool) {
	for _, prefix := range []string{"sys_", "SyS_", "stub_", "__x64_sys_", "__arm64_sys_", "__se_sys_", "__do_sys_", "ksys_"} {
		if call, ok := strings.CutPrefix(name, prefix); ok && call != "" {
			return call, true
		}
	}
	return "", false
}

// renamed returns the possible names of a function in this kernel.
func renamed(name string) []string {
	names := slices.Clone(renames[name].to)
	if call, ok := systemCall(name); ok {
		for _, prefix := range []string{"__x64_sys_", "__arm64_sys_", "__do_sys_", "__se_sys_", "ksys_", "sys_"} {
			names = append(names, prefix+call)
		}
	}
	// Since 6.10, many allocators are macros around functions with this suffix.
	names = append(names, name+"_noprof")
	return slices.DeleteFunc(names, func(n string) bool { return n == name })
}

func whyRenamed(name string, today []string) string {
	if r, ok := renames[name]; ok && slices.ContainsFunc(today, func(t string) bool { return slices.Contains(r.to, t) }) {
		return "since Linux " + r.since
	}
	if slices.ContainsFunc(today, func(t string) bool { return baseName(t) == name }) {
		return "the compiler cloned it from " + name + ", and may have changed its arguments"
	}
	if _, ok := systemCall(name); ok {
		return "since Linux 4.17; its own arguments are in memory then, where the first argument points to"
	}
	return ""
}

// bypassed are functions that may still exist, but that most calls bypass: their callees are
// called directly, or their code was inlined. renames has their replacements.
var bypassed = []string{
	"do_sys_open", "mark_page_accessed", "add_to_page_cache_lru", "set_page_dirty", "end_page_writeback",
	"unlock_page", "wait_on_page_writeback", "pagecache_get_page", "kfree_skb",
}

// bypassNote returns a warning if most calls bypass the function, else "".
func bypassNote(name string, has func(string) bool) string {
	if !slices.Contains(bypassed, name) {
		return ""
	}
	r := renames[name]
	for _, to := range r.to {
		if has(to) {
			return fmt.Sprintf("since Linux %s most calls go past %s: probe %s to see them all", r.since, name, to)
		}
	}
	return ""
}

// busy are functions that run tens of thousands of times a second on any machine that is not
// idle.
var busy = map[string]string{
	"__schedule":         "at every switch of threads",
	"finish_task_switch": "at every switch of threads",
	"try_to_wake_up":     "at every wakeup",
	"update_curr":        "at every tick and every switch of threads",
	"scheduler_tick":     "at every tick",
	"sched_tick":         "at every tick",
	"_raw_spin_lock":     "whenever a lock is taken",
	"_raw_spin_unlock":   "whenever a lock is given back",
	"mutex_lock":         "whenever a mutex is taken",
	"kmem_cache_alloc":   "at most allocations of the kernel's",
	"kmem_cache_free":    "when most allocations of the kernel's are freed",
	"__kmalloc":          "at many allocations of the kernel's",
	"kfree":              "when most allocations of the kernel's are freed",
	"ktime_get":          "whenever the time is asked for",
	"hrtimer_interrupt":  "at every timer interrupt",
	"__fget_light":       "at most system calls that take a file",
}

// busyNote returns a warning if the function is called very often, else "".
func busyNote(f *Function) string {
	if when, ok := busy[baseName(f.Name)]; ok {
		return fmt.Sprintf("%s runs %s: each hit costs about a microsecond", f.Name, when)
	}
	return ""
}
