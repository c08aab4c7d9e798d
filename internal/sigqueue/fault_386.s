#include "textflag.h"

// func onFault()
TEXT ·onFault(SB), NOSPLIT|NOFRAME, $0
	MOVL 8(SP), AX
	CMPL 8(AX), $0 // si_code
	JLE  sent
	MOVL ·goHandler(SB), AX
	JMP  AX

sent:
	RET

DATA ·onFaultPC(SB)/4, $·onFault(SB)
GLOBL ·onFaultPC(SB), RODATA, $4
