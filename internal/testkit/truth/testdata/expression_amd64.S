	.text

	/* long cfa_expression(volatile int *done): keeps its caller's stack
	 * pointer in memory, at 8(%rsp), below an aligned area. */
	.globl	cfa_expression
	.type	cfa_expression, @function
cfa_expression:
	.cfi_startproc
	movq	%rsp, %rax
	.cfi_def_cfa_register %rax
	pushq	%rbx
	.cfi_offset %rbx, -16
	subq	$1024, %rsp
	andq	$-64, %rsp
	movq	%rax, 8(%rsp)
	/* DW_CFA_def_cfa_expression: DW_OP_breg7 8; DW_OP_deref; DW_OP_plus_uconst 8 */
	.cfi_escape 0x0f, 0x05, 0x77, 0x08, 0x06, 0x23, 0x08
	movl	$7, %ebx
	call	spin_pushing
	movq	8(%rsp), %rdx
	.cfi_def_cfa %rdx, 8
	movq	-8(%rdx), %rbx
	.cfi_restore %rbx
	movq	%rdx, %rsp
	.cfi_def_cfa_register %rsp
	ret
	.cfi_endproc
	.size	cfa_expression, . - cfa_expression

	/* long spin_pushing(volatile int *done): its frame changes with every
	 * instruction of the loop. */
	.globl	spin_pushing
	.type	spin_pushing, @function
spin_pushing:
	.cfi_startproc
.Lagain:
	pushq	%rdi
	.cfi_adjust_cfa_offset 8
	pushq	%rbx
	.cfi_adjust_cfa_offset 8
	popq	%rax
	.cfi_adjust_cfa_offset -8
	popq	%rdi
	.cfi_adjust_cfa_offset -8
	cmpl	$0, (%rdi)
	je	.Lagain
	ret
	.cfi_endproc
	.size	spin_pushing, . - spin_pushing

	.section .note.GNU-stack, "", @progbits
