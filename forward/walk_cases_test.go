package forward

// walked is what the walk of all families of up to four finds: in how many cases a process
// was signalled by drainit and by another, in how many by none before the last call, and
// in how many not even by that, each by its cause. A case is a process of one family to
// which it happens in one order of deaths at least. Some are right: what is below a worker
// that works is the worker's business. Some can't be known, some are not looked for yet:
// a change of the rules shows here.
var walked = map[string]int{
	"never: the one above it blocks it; it does not handle it":                                    5523,
	"never: the one above it blocks it; it handles it":                                            11115,
	"never: the one above it ignores it; it does not handle it":                                   5523,
	"never: the one above it ignores it; it handles it":                                           11115,
	"never: the trap above it waits for the foreground; it does not handle it":                    5523,
	"never: the trap above it waits for the foreground; it handles it":                            11109,
	"not before the last call: its parent left in order; it does not handle it":                   4998,
	"not before the last call: its parent left in order; it handles it":                           18832,
	"not before the last call: the one above it blocks it; it does not handle it":                 5097,
	"not before the last call: the one above it blocks it; it handles it":                         10264,
	"not before the last call: the one above it ignores it; it does not handle it":                5499,
	"not before the last call: the one above it ignores it; it handles it":                        11068,
	"not before the last call: the one above it waits for others; it does not handle it":          81,
	"not before the last call: the one above it waits for others; it handles it":                  162,
	"not before the last call: the one above it works; it does not handle it":                     5094,
	"not before the last call: the one above it works; it handles it":                             10257,
	"not before the last call: the relay above it signalled another group; it handles it":         27,
	"not before the last call: the trap above it waits for the foreground; it does not handle it": 5097,
	"not before the last call: the trap above it waits for the foreground; it handles it":         10256,
	"twice: by a relay, and by drainit's last call; it blocks it":                                 211,
	"twice: by a relay, and by drainit's last call; it handles it":                                256,
	"twice: by a relay, and by drainit's last call; it ignores it":                                209,
	"twice: by a relay, and by drainit's last call; it was dying of it":                           6,
	"twice: by a relay, and by drainit; it blocks it":                                             2,
	"twice: by a relay, and by drainit; it handles it":                                            10,
	"twice: by a relay, and by drainit; it ignores it":                                            6,
	"twice: by a relay, and by drainit; it was dying of it":                                       6,
	"twice: by its parent, and by drainit's last call; it blocks it":                              1288,
	"twice: by its parent, and by drainit's last call; it handles it":                             2729,
	"twice: by its parent, and by drainit's last call; it ignores it":                             201,
	"twice: by its parent, and by drainit's last call; it was dying of it":                        127,
	"twice: by its parent, and by drainit; it ignores it":                                         1091,
	"twice: by its parent, and by drainit; it was dying of it":                                    1091,
}

// walkedLate is the same of all families of up to three, where snapshots may come late.
var walkedLate = map[string]int{
	"never: the one above it blocks it; it does not handle it":                                    126,
	"never: the one above it blocks it; it handles it":                                            253,
	"never: the one above it ignores it; it does not handle it":                                   126,
	"never: the one above it ignores it; it handles it":                                           253,
	"never: the trap above it waits for the foreground; it does not handle it":                    126,
	"never: the trap above it waits for the foreground; it handles it":                            253,
	"not before the last call: its parent left in order; it does not handle it":                   104,
	"not before the last call: its parent left in order; it handles it":                           458,
	"not before the last call: the one above it blocks it; it does not handle it":                 120,
	"not before the last call: the one above it blocks it; it handles it":                         241,
	"not before the last call: the one above it ignores it; it does not handle it":                126,
	"not before the last call: the one above it ignores it; it handles it":                        253,
	"not before the last call: the one above it works; it does not handle it":                     120,
	"not before the last call: the one above it works; it handles it":                             241,
	"not before the last call: the trap above it waits for the foreground; it does not handle it": 120,
	"not before the last call: the trap above it waits for the foreground; it handles it":         241,
	"twice: by a relay, and by drainit's last call; it blocks it":                                 3,
	"twice: by a relay, and by drainit's last call; it handles it":                                3,
	"twice: by a relay, and by drainit's last call; it ignores it":                                3,
	"twice: by its parent, and by drainit's last call; it blocks it":                              34,
	"twice: by its parent, and by drainit's last call; it handles it":                             59,
	"twice: by its parent, and by drainit's last call; it ignores it":                             5,
	"twice: by its parent, and by drainit's last call; it was dying of it":                        2,
	"twice: by its parent, and by drainit; it ignores it":                                         31,
	"twice: by its parent, and by drainit; it was dying of it":                                    31,
}
