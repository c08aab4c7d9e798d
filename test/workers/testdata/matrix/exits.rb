# It exits on TERM while its application works on.
trap("TERM") { exit }
Process.wait spawn("node", "app.js")
exit $?.exitstatus
