// Package phase names the phases in the life of a worker under drainit.
//
// It owns the words, which the log, the title, the probes and the verbs share, and
// nothing else: which phase comes when is package supervisor's.
package phase

// Phase is where drainit is in the life of its worker.
type Phase uint8

// The phases, in their order. Only Quiet ever goes back, to Running.
const (
	Starting Phase = iota
	Running
	Quiet
	Draining
	Killing
	Done

	Count = int(Done) + 1 // how many there are
)

// String is the word for the phase, as in the log and in the answers of probes.
func (p Phase) String() string {
	return [Count]string{"starting", "running", "quiet", "draining", "killing", "done"}[p]
}
