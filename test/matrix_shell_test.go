package test

import (
	"syscall"
	"testing"
)

// shellWays are the starts through a shell.
var shellWays = []way{
	{name: "`sh -c 'node app'`", programs: []string{"node", "sh"}, status: 7,
		prepare: app(env{"STATUS": "7"}, nil, "sh", "-c", "node app.js")},
	// Some shells exec the last command, and none this one.
	{name: "`sh -c 'node app; exit $?'`", programs: []string{"node", "sh"}, status: 7,
		prepare: app(env{"STATUS": "7"}, nil, "sh", "-c", "node app.js; exit $?")},
	{name: "bash with `trap 'kill $c' TERM; wait $c`", programs: []string{"node", "bash"}, status: 143,
		prepare: app(nil, files{"start.sh": trapAndForward}, "bash", "start.sh")},
	{name: "bash with a trap that cleans up in the background", programs: []string{"node", "bash"}, status: 5, uncounted: true,
		prepare: app(nil, files{"start.sh": trapAndCleanUp, "clean-up.sh": cleanUp}, "bash", "start.sh"), kept: noneSignalled},
	{name: "bash with a trap for EXIT", programs: []string{"node", "bash"}, status: 7,
		prepare: app(env{"STATUS": "7"}, files{"start.sh": "trap 'rm -f pid' EXIT\nnode app.js\nexit $?\n"}, "bash", "start.sh")},
	{name: "`sh -c 'node app | tee log'`", programs: []string{"node", "sh", "tee"}, status: 7,
		prepare: app(env{"STATUS": "7", "CHATTY": "1"}, nil, "sh", "-c", "node app.js | tee log")},
	{name: "`timeout 300 sh -c 'node app; exit $?'`", programs: []string{"node", "sh", "timeout"}, status: 143,
		prepare: app(nil, nil, "timeout", "300", "sh", "-c", "node app.js; exit $?")},
	{name: "INT to a bash with a trap for TERM", programs: []string{"node", "bash"}, signal: syscall.SIGINT, status: 143,
		prepare: app(nil, files{"start.sh": trapAndForward}, "bash", "start.sh")},
	{name: "`while :; do node app; done`", programs: []string{"node", "bash"},
		prepare: app(nil, files{"start.sh": "while :; do node app.js; done\n"}, "bash", "start.sh")},
}

const trapAndForward = `
node app.js & c=$!
trap 'kill $c' TERM
wait $c
exit
`

const trapAndCleanUp = `
trap 'bash clean-up.sh & exit 5' TERM
echo "begin $EPOCHREALTIME" >>"$RECORD"
sleep 3600 &
wait
`

// cleanUp is the job of that trap, and not to be signalled.
const cleanUp = `
trap 'echo "signalled SIGTERM $EPOCHREALTIME" >>"$RECORD"' TERM
sleep "$JOB"
echo "done $EPOCHREALTIME" >>"$RECORD"
`

// noneSignalled reports whether no handler ran.
func noneSignalled(_ *testing.T, s *scene) bool { return s.count("signalled") == 0 }
