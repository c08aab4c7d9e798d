#include "textflag.h"

// func onFault()
TEXT ·onFault(SB), NOSPLIT|NOFRAME, $0
	MOVW 8(R1), R3 // si_code
	CMP  $0, R3
	BLE  sent
	MOVW ·goHandler(SB), R3
	JMP  (R3)

sent:
	RET

DATA ·onFaultPC(SB)/4, $·onFault(SB)
GLOBL ·onFaultPC(SB), RODATA, $4
