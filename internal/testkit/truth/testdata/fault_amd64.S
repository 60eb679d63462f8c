	.text

	/* Ends right before fault_at_entry, with a frame of its own. */
	.globl	neighbour
	.type	neighbour, @function
neighbour:
	.cfi_startproc
	subq	$72, %rsp
	.cfi_adjust_cfa_offset 72
	ud2
	.cfi_endproc
	.size	neighbour, . - neighbour

	/* long fault_at_entry(volatile long *address) */
	.globl	fault_at_entry
	.type	fault_at_entry, @function
fault_at_entry:
	.cfi_startproc
	movq	(%rdi), %rax
	ret
	.cfi_endproc
	.size	fault_at_entry, . - fault_at_entry

	.section .note.GNU-stack, "", @progbits
