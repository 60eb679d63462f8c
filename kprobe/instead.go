package kprobe

import "strings"

// instead maps functions that cannot be probed, or no longer exist, to tracepoints with the
// same information. If several are listed, the first one that the kernel has is used.
var instead = map[string]string{
	"__schedule":           "sched:sched_switch",
	"schedule":             "sched:sched_switch",
	"finish_task_switch":   "sched:sched_switch",
	"try_to_wake_up":       "sched:sched_waking",
	"do_exit":              "sched:sched_process_exit",
	"kernel_clone":         "sched:sched_process_fork",
	"_do_fork":             "sched:sched_process_fork",
	"load_elf_binary":      "sched:sched_process_exec",
	"bprm_execve":          "sched:sched_process_exec",
	"do_init_module":       "module:module_load",
	"oom_kill_process":     "oom:mark_victim",
	"cap_capable":          "capability:cap_capable",
	"asm_exc_page_fault":   "exceptions:page_fault_user",
	"exc_page_fault":       "exceptions:page_fault_user",
	"handle_mm_fault":      "exceptions:page_fault_user",
	"filemap_fault":        "filemap:mm_filemap_fault",
	"kmem_cache_alloc":     "kmem:kmem_cache_alloc",
	"kmem_cache_free":      "kmem:kmem_cache_free",
	"__kmalloc":            "kmem:kmalloc",
	"kfree":                "kmem:kfree",
	"mutex_lock":           "lock:contention_begin",
	"do_syscall_64":        "raw_syscalls:sys_enter",
	"entry_SYSCALL_64":     "raw_syscalls:sys_enter",
	"el0_svc":              "raw_syscalls:sys_enter",
	"vfs_read":             "syscalls:sys_enter_read",
	"vfs_write":            "syscalls:sys_enter_write",
	"vfs_open":             "syscalls:sys_enter_openat",
	"do_sys_open":          "syscalls:sys_enter_openat",
	"do_sys_openat2":       "syscalls:sys_enter_openat",
	"vfs_unlink":           "syscalls:sys_enter_unlinkat",
	"vfs_fsync":            "syscalls:sys_enter_fsync",
	"tty_write":            "syscalls:sys_enter_write",
	"do_nanosleep":         "syscalls:sys_enter_clock_nanosleep",
	"hrtimer_nanosleep":    "syscalls:sys_enter_clock_nanosleep",
	"ext4_sync_file":       "ext4:ext4_sync_file_enter",
	"filemap_add_folio":    "filemap:mm_filemap_add_to_page_cache",
	"blk_account_io_start": "block:block_io_start block:block_rq_issue",
	"blk_account_io_done":  "block:block_io_done block:block_rq_complete",
	"blk_mq_start_request": "block:block_rq_issue",
	"tcp_set_state":        "sock:inet_sock_set_state",
	"tcp_connect":          "sock:inet_sock_set_state",
	"tcp_v4_connect":       "sock:inet_sock_set_state",
	"tcp_v6_connect":       "sock:inet_sock_set_state",
	"inet_csk_accept":      "sock:inet_sock_set_state",
	"tcp_retransmit_skb":   "tcp:tcp_retransmit_skb",
	"tcp_drop":             "skb:kfree_skb",
	"kfree_skb":            "skb:kfree_skb",
	"tcp_v4_send_reset":    "tcp:tcp_send_reset",
	"tcp_rcv_established":  "tcp:tcp_probe",
	"sock_recvmsg":         "sock:sock_recv_length syscalls:sys_enter_recvfrom",
	"sock_sendmsg":         "sock:sock_send_length syscalls:sys_enter_sendto",
	"ip_rcv":               "net:netif_receive_skb",
	"netif_receive_skb":    "net:netif_receive_skb",
	"dev_queue_xmit":       "net:net_dev_queue",

	"add_to_page_cache_lru":    "filemap:mm_filemap_add_to_page_cache",
	"smp_call_function_single": "csd:csd_queue_cpu",
}

// Instead returns the tracepoints that replace probes of a function, as SYSTEM:EVENT, best
// first. Some kernels do not have them.
func Instead(function string) []string { return strings.Fields(instead[baseName(function)]) }
