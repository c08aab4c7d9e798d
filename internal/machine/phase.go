package machine

// Phase is where drainit is in the life of its worker. Its words are those of the log, the title, the probes
// and the subcommands.
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

// String returns the word for the phase, as in the log and in the answers of probes.
func (p Phase) String() string {
	return [Count]string{"starting", "running", "quiet", "draining", "killing", "done"}[p]
}
