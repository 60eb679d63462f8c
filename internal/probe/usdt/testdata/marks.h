/* Marks like those of SystemTap's <sys/sdt.h>, written for the tests after the
 * description of their notes, so that nothing needs to be installed. ARGS is the
 * text of the note's arguments with %0, %1 ... for the operands that follow. */
#if defined(__i386__)
#define MARK_ADDRESS ".4byte "
#else
#define MARK_ADDRESS ".8byte "
#endif

#define MARK(PROVIDER, NAME, SEMAPHORE, ARGS, ...)                              \
	__asm__ volatile(                                                       \
		"990:	nop\n"                                                   \
		"	.pushsection .note.stapsdt, \"?\", \"note\"\n"           \
		"	.balign 4\n"                                             \
		"	.4byte 992f - 991f, 994f - 993f, 3\n"                    \
		"991:	.asciz \"stapsdt\"\n"                                    \
		"992:	.balign 4\n"                                             \
		"993:	" MARK_ADDRESS "990b\n"                                  \
		"	" MARK_ADDRESS "_.stapsdt.base\n"                        \
		"	" MARK_ADDRESS SEMAPHORE "\n"                            \
		"	.asciz \"" PROVIDER "\"\n"                               \
		"	.asciz \"" NAME "\"\n"                                   \
		"	.asciz \"" ARGS "\"\n"                                   \
		"994:	.balign 4\n"                                             \
		"	.popsection\n"                                           \
		".ifndef _.stapsdt.base\n"                                       \
		"	.pushsection .stapsdt.base, \"aG\", \"progbits\", .stapsdt.base, comdat\n" \
		"	.weak _.stapsdt.base\n"                                  \
		"	.hidden _.stapsdt.base\n"                                \
		"_.stapsdt.base: .space 1\n"                                     \
		"	.size _.stapsdt.base, 1\n"                               \
		"	.popsection\n"                                           \
		".endif\n" : : __VA_ARGS__ : "memory")

#define SEMAPHORE(NAME) \
	__attribute__((used, section(".probes"))) volatile unsigned short NAME
