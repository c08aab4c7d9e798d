#include "textflag.h"

// func onFault()
TEXT ·onFault(SB), NOSPLIT|NOFRAME, $0
	MOVW 8(X11), X5 // si_code
	BLEZ X5, sent
	MOV  ·goHandler(SB), X5
	JMP  (X5)

sent:
	RET

DATA ·onFaultPC(SB)/8, $·onFault(SB)
GLOBL ·onFaultPC(SB), RODATA, $8
