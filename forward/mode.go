package forward

import "fmt"

// Mode is which processes get a signal.
type Mode uint8

// The modes of --forward.
const (
	ModeAuto   Mode = iota // the first that handles it on each way down from the worker
	ModeGroup              // the worker's process group
	ModeWorker             // the worker alone
)

func (m Mode) String() string { return [...]string{"auto", "group", "worker"}[m] }

// ParseMode reads the name of a mode.
func ParseMode(s string) (Mode, error) {
	for _, m := range []Mode{ModeAuto, ModeGroup, ModeWorker} {
		if s == m.String() {
			return m, nil
		}
	}
	return ModeAuto, fmt.Errorf("invalid value %q: want auto, group or worker", s)
}
