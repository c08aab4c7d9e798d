package proc

import (
	"fmt"
	"os"
	"testing"
)

// As kill(2) has it: a process of drainit's own user may signal it, by its real or its effective user, and root with
// CAP_KILL. What another user may do in a namespace of its own is none of drainit's.
func TestWhoMaySignalDrainit(t *testing.T) {
	own := os.Getuid()
	other := own + 1
	for _, tt := range []struct {
		real, effective int
		capabilities    string
		may             bool
	}{
		{own, own, "0000000000000000", true},
		{own, other, "0000000000000000", true},
		{other, own, "0000000000000000", true},
		{other, other, "0000000000000000", false},
		{other, other, "000001ffffffffff", false},
		{other, 0, "0000000000000020", true},
		{other, 0, "00000000ffffffdf", own == 0},
		{other, 0, "none", own == 0},
	} {
		status := fmt.Sprintf("Name:\tdrainit:force\nUid:\t%d\t%d\t%d\t%d\nCapPrm:\tffffffffffffffff\nCapEff:\t%s\nCapBnd:\tffffffffffffffff\n",
			tt.real, tt.effective, tt.effective, tt.effective, tt.capabilities)
		if uid, may := maySignal([]byte(status)); uid != tt.effective || may != tt.may {
			t.Errorf("%+v: user %d may: %t", tt, uid, may)
		}
	}
	for _, status := range []string{"", "Uid:\t0\n", "Name:\tUid\n"} {
		if uid, may := maySignal([]byte(status)); may {
			t.Errorf("%q: user %d may", status, uid)
		}
	}
}
