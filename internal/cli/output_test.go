package cli

import (
	"errors"
	"strings"
	"testing"
	"time"
)

// lateWriter gets its turn late, as a goroutine of a program does on a busy machine.
type lateWriter struct{ said strings.Builder }

func (w *lateWriter) Write(b []byte) (int, error) {
	time.Sleep(500 * time.Millisecond) // what is tested
	return w.said.Write(b)
}

// What is said is not lost as long as standard error would take it.
func TestWhatIsSaidLateIsNotLost(t *testing.T) {
	w := new(lateWriter)
	if fail(errors.New("already stopping"), "", w); w.said.String() != "drainit: already stopping\n" {
		t.Errorf("said %q", w.said.String())
	}
}
