package forward

import "testing"

// These are the behaviours of families of up to four, of those that a late snapshot shows,
// and all.
var (
	basic = []behaviour{noHandler, finishes, passesOn, passesLeaves, trapShell}
	usual = append(basic[:len(basic):len(basic)], leavesAtOnce, ignoring, blocking, groupRelay)
	every = append(usual[:len(usual):len(usual)], nestedInit, pipeReader, handlerShell, childRelay, passingShell)
)

// Every family is stopped in every order of deaths. A snapshot that is late may miss
// some, as it does where the dead was not drainit's child.
func TestSmallFamiliesWalkedWhole(t *testing.T) {
	for name, tt := range map[string]struct {
		most  int
		these []behaviour
		kind
	}{
		"idle":            {3, every, kind{idle: true}},
		"busy":            {3, every, kind{}},
		"idle, seen late": {3, usual, kind{idle: true, late: true}},
		"busy, seen late": {3, usual, kind{late: true}},
		"four, idle":      {4, basic, kind{idle: true}},
		"four, busy":      {4, basic, kind{}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			walkAll(t, tt.most, tt.these, tt.kind).compare(t, walked[name])
		})
	}
}

// walked is what the walks find: how many processes of one family each were signalled by
// drainit and by another, by none before the last call, and not even by that, each by its
// cause, in one order of deaths at least. Most are as they should be: what is below one
// that handles the stop is that one's business, and what does not handle the signal may
// be what a shell waits for. What busy ones received can't be known. A change of the rules
// shows here.
var walked = map[string]map[string]int{
	"idle": {
		"never: its writer lives; it does not act upon it":                                                             42,
		"never: the one above it blocks it; it does not act upon it":                                                   245,
		"never: the one above it does not act upon what another sent it; it does not act upon it":                      45,
		"never: the one above it ignores it; it does not act upon it":                                                  245,
		"never: the one above it is a namespace's first; it does not act upon it":                                      245,
		"never: the one above it left in order; it does not act upon it":                                               32,
		"never: the relay above it waits for others; it does not act upon it":                                          65,
		"never: the shell above it waits for another; it does not act upon it":                                         90,
		"never: the shell above it waits for it; it does not act upon it":                                              595,
		"never: the shell above it, which another signalled, waits for it; it does not act upon it":                    35,
		"not before the last call: its writer lives; it does not act upon it":                                          82,
		"not before the last call: the one above it blocks it; it does not act upon it":                                245,
		"not before the last call: the one above it does not act upon what another sent it; it does not act upon it":   45,
		"not before the last call: the one above it does not act upon what another sent it; it handles it":             51,
		"not before the last call: the one above it ignores it; it does not act upon it":                               245,
		"not before the last call: the one above it is a namespace's first; it does not act upon it":                   245,
		"not before the last call: the one above it works; it does not act upon it":                                    325,
		"not before the last call: the one above it works; it handles it":                                              521,
		"not before the last call: the relay above it waits for others; it does not act upon it":                       65,
		"not before the last call: the relay above it waits for others; it handles it":                                 104,
		"not before the last call: the shell above it waits for another; it does not act upon it":                      105,
		"not before the last call: the shell above it waits for another; it handles it":                                168,
		"not before the last call: the shell above it waits for it; it does not act upon it":                           585,
		"not before the last call: the shell above it, which another signalled, waits for it; it does not act upon it": 45,
		"not before the last call: the shell above it, which another signalled, waits for it; it handles it":           51,
		"twice: by a relay, and by drainit's last call; it handles it":                                                 3,
		"twice: by drainit, and then by its parent's last call; it handles it":                                         8,
		"twice: by its parent, and by drainit's last call; it handles it":                                              92,
	},
	"busy": {
		"never: its parent died of it, which another had signalled; it does not act upon it":                           8,
		"never: its writer lives; it does not act upon it":                                                             44,
		"never: the one above it blocks it; it does not act upon it":                                                   235,
		"never: the one above it does not act upon what another sent it; it does not act upon it":                      45,
		"never: the one above it does not act upon what another sent it; it handles it":                                51,
		"never: the one above it ignores it; it does not act upon it":                                                  235,
		"never: the one above it is a namespace's first; it does not act upon it":                                      235,
		"never: the one above it left in order; it does not act upon it":                                               496,
		"never: the relay above it waits for others; it does not act upon it":                                          65,
		"never: the relay above it waits for others; it handles it":                                                    104,
		"never: the shell above it waits for another; it does not act upon it":                                         90,
		"never: the shell above it waits for it; it does not act upon it":                                              585,
		"never: the shell above it, which another signalled, waits for it; it does not act upon it":                    35,
		"never: the shell above it, which another signalled, waits for it; it handles it":                              51,
		"not before the last call: its parent died of it, which another had signalled; it does not act upon it":        8,
		"not before the last call: its parent died of it, which another had signalled; it handles it":                  16,
		"not before the last call: its writer lives; it does not act upon it":                                          90,
		"not before the last call: the one above it blocks it; it does not act upon it":                                235,
		"not before the last call: the one above it does not act upon what another sent it; it does not act upon it":   45,
		"not before the last call: the one above it does not act upon what another sent it; it handles it":             75,
		"not before the last call: the one above it ignores it; it does not act upon it":                               235,
		"not before the last call: the one above it is a namespace's first; it does not act upon it":                   235,
		"not before the last call: the one above it left in order; it does not act upon it":                            540,
		"not before the last call: the one above it left in order; it handles it":                                      1034,
		"not before the last call: the one above it works; it does not act upon it":                                    320,
		"not before the last call: the one above it works; it handles it":                                              513,
		"not before the last call: the relay above it waits for others; it does not act upon it":                       65,
		"not before the last call: the relay above it waits for others; it handles it":                                 104,
		"not before the last call: the shell above it waits for another; it does not act upon it":                      105,
		"not before the last call: the shell above it waits for another; it handles it":                                168,
		"not before the last call: the shell above it waits for it; it does not act upon it":                           555,
		"not before the last call: the shell above it, which another signalled, waits for it; it does not act upon it": 45,
		"not before the last call: the shell above it, which another signalled, waits for it; it handles it":           75,
		"twice: by a relay, and by drainit's last call; it handles it":                                                 3,
		"twice: by drainit, and then by its parent's last call; it handles it":                                         8,
		"twice: by its parent, and by drainit's last call; it handles it":                                              113,
	},
	"idle, seen late": {
		"never: the one above it blocks it; it does not act upon it":                                                   102,
		"never: the one above it does not act upon what another sent it; it does not act upon it":                      12,
		"never: the one above it ignores it; it does not act upon it":                                                  102,
		"never: the one above it left in order; it does not act upon it":                                               12,
		"never: the shell above it waits for another; it does not act upon it":                                         9,
		"never: the shell above it waits for it; it does not act upon it":                                              87,
		"never: the shell above it, which another signalled, waits for it; it does not act upon it":                    3,
		"not before the last call: the one above it blocks it; it does not act upon it":                                102,
		"not before the last call: the one above it does not act upon what another sent it; it does not act upon it":   12,
		"not before the last call: the one above it does not act upon what another sent it; it handles it":             14,
		"not before the last call: the one above it ignores it; it does not act upon it":                               102,
		"not before the last call: the one above it works; it does not act upon it":                                    132,
		"not before the last call: the one above it works; it handles it":                                              265,
		"not before the last call: the shell above it waits for another; it does not act upon it":                      12,
		"not before the last call: the shell above it waits for another; it handles it":                                24,
		"not before the last call: the shell above it waits for it; it does not act upon it":                           84,
		"not before the last call: the shell above it, which another signalled, waits for it; it does not act upon it": 6,
		"not before the last call: the shell above it, which another signalled, waits for it; it handles it":           7,
		"twice: by a relay, and by drainit's last call; it handles it":                                                 3,
		"twice: by its parent, and by drainit's last call; it handles it":                                              52,
	},
	"busy, seen late": {
		"never: its parent died of it, which another had signalled; it does not act upon it":                           4,
		"never: the one above it blocks it; it does not act upon it":                                                   96,
		"never: the one above it does not act upon what another sent it; it does not act upon it":                      12,
		"never: the one above it does not act upon what another sent it; it handles it":                                14,
		"never: the one above it ignores it; it does not act upon it":                                                  96,
		"never: the one above it left in order; it does not act upon it":                                               168,
		"never: the shell above it waits for another; it does not act upon it":                                         9,
		"never: the shell above it waits for it; it does not act upon it":                                              87,
		"never: the shell above it, which another signalled, waits for it; it does not act upon it":                    3,
		"never: the shell above it, which another signalled, waits for it; it handles it":                              7,
		"not before the last call: its parent died of it, which another had signalled; it does not act upon it":        4,
		"not before the last call: its parent died of it, which another had signalled; it handles it":                  12,
		"not before the last call: the one above it blocks it; it does not act upon it":                                96,
		"not before the last call: the one above it does not act upon what another sent it; it does not act upon it":   12,
		"not before the last call: the one above it does not act upon what another sent it; it handles it":             26,
		"not before the last call: the one above it ignores it; it does not act upon it":                               96,
		"not before the last call: the one above it left in order; it does not act upon it":                            190,
		"not before the last call: the one above it left in order; it handles it":                                      524,
		"not before the last call: the one above it works; it does not act upon it":                                    129,
		"not before the last call: the one above it works; it handles it":                                              259,
		"not before the last call: the shell above it waits for another; it does not act upon it":                      12,
		"not before the last call: the shell above it waits for another; it handles it":                                24,
		"not before the last call: the shell above it waits for it; it does not act upon it":                           78,
		"not before the last call: the shell above it, which another signalled, waits for it; it does not act upon it": 6,
		"not before the last call: the shell above it, which another signalled, waits for it; it handles it":           13,
		"twice: by a relay, and by drainit's last call; it handles it":                                                 3,
		"twice: by its parent, and by drainit's last call; it handles it":                                              62,
	},
	"four, idle": {
		"never: the shell above it waits for another; it does not act upon it":                                         34,
		"never: the shell above it waits for it; it does not act upon it":                                              311,
		"never: the shell above it, which another signalled, waits for it; it does not act upon it":                    32,
		"not before the last call: the one above it works; it does not act upon it":                                    626,
		"not before the last call: the one above it works; it handles it":                                              2504,
		"not before the last call: the shell above it waits for another; it does not act upon it":                      88,
		"not before the last call: the shell above it waits for another; it handles it":                                352,
		"not before the last call: the shell above it waits for it; it does not act upon it":                           273,
		"not before the last call: the shell above it, which another signalled, waits for it; it does not act upon it": 68,
		"not before the last call: the shell above it, which another signalled, waits for it; it handles it":           144,
		"twice: by its parent, and by drainit's last call; it handles it":                                              709,
	},
	"four, busy": {
		"never: the shell above it waits for another; it does not act upon it":                                         38,
		"never: the shell above it waits for another; it handles it":                                                   20,
		"never: the shell above it waits for it; it does not act upon it":                                              310,
		"never: the shell above it, which another signalled, waits for it; it does not act upon it":                    36,
		"never: the shell above it, which another signalled, waits for it; it handles it":                              144,
		"not before the last call: its parent died of it, which another had signalled; it does not act upon it":        11,
		"not before the last call: its parent died of it, which another had signalled; it handles it":                  312,
		"not before the last call: the one above it left in order; it does not act upon it":                            183,
		"not before the last call: the one above it left in order; it handles it":                                      2624,
		"not before the last call: the one above it works; it does not act upon it":                                    617,
		"not before the last call: the one above it works; it handles it":                                              2468,
		"not before the last call: the shell above it waits for another; it does not act upon it":                      89,
		"not before the last call: the shell above it waits for another; it handles it":                                356,
		"not before the last call: the shell above it waits for it; it does not act upon it":                           232,
		"not before the last call: the shell above it, which another signalled, waits for it; it does not act upon it": 70,
		"not before the last call: the shell above it, which another signalled, waits for it; it handles it":           280,
		"twice: by its parent, and by drainit's last call; it handles it":                                              819,
	},
}
