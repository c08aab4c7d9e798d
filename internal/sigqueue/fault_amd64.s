#include "textflag.h"

// func onFault()
TEXT ·onFault(SB), NOSPLIT|NOFRAME, $0
	CMPL 8(SI), $0 // si_code
	JLE  sent
	MOVQ ·goHandler(SB), AX
	JMP  AX

sent:
	RET

DATA ·onFaultPC(SB)/8, $·onFault(SB)
GLOBL ·onFaultPC(SB), RODATA, $8
