# It has no handler and would be lost by the signal, as a pg_dump is.
echo "begin $EPOCHREALTIME" >>"$RECORD"
sleep "$JOB"
echo "done $EPOCHREALTIME" >>"$RECORD"
