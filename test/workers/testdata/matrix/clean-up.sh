# The job of a trap, which is not to be signalled.
trap 'echo "signalled SIGTERM $EPOCHREALTIME" >>"$RECORD"' TERM
sleep "$JOB"
echo "done $EPOCHREALTIME" >>"$RECORD"
