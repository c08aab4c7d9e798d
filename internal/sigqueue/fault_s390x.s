#include "textflag.h"

// func onFault()
TEXT ·onFault(SB), NOSPLIT|NOFRAME, $0
	MOVW 8(R3), R1 // si_code
	CMPW R1, $0
	BLE  sent
	MOVD ·goHandler(SB), R1
	JMP  (R1)

sent:
	RET

DATA ·onFaultPC(SB)/8, $·onFault(SB)
GLOBL ·onFaultPC(SB), RODATA, $8
