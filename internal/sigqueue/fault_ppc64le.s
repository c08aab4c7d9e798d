#include "textflag.h"

// func onFault()
TEXT ·onFault(SB), NOSPLIT|NOFRAME, $0
	MOVW 8(R4), R6 // si_code
	CMPW R6, $0
	BLE  sent
	MOVD ·goHandler(SB), R12
	MOVD R12, CTR
	JMP  (CTR)

sent:
	RET

DATA ·onFaultPC(SB)/8, $·onFault(SB)
GLOBL ·onFaultPC(SB), RODATA, $8
