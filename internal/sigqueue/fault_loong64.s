#include "textflag.h"

// func onFault()
TEXT ·onFault(SB), NOSPLIT|NOFRAME, $0
	MOVW 8(R5), R12 // si_code
	BLEZ R12, sent
	MOVV ·goHandler(SB), R12
	JMP  (R12)

sent:
	RET

DATA ·onFaultPC(SB)/8, $·onFault(SB)
GLOBL ·onFaultPC(SB), RODATA, $8
