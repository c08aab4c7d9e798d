#!/bin/sh
# stage.sh COMMAND runs as the first process of fresh PID, mount and network namespaces. It gives them
# a /proc, a loopback, and empty folders in place of those that a cluster writes to, and becomes drainit.
set -e
mount --make-rprivate /
mount -t proc proc /proc
for dir in /run /var/lib /var/log; do mount -t tmpfs tmpfs $dir; done
ip link set lo up

# What is installed on a node: it is not installed on this machine.
for dir in etc opt; do
	mkdir -p /run/$dir/upper /run/$dir/work
	mount -t overlay -o lowerdir=/$dir,upperdir=/run/$dir/upper,workdir=/run/$dir/work overlay /$dir
done

# The kernel's settings that a kubelet changes for the whole machine, unless they are so: it finds them so.
while read -r name value; do
	echo "$value" >"$ROLLOUT_FOLDER/${name##*/}"
	mount --bind "$ROLLOUT_FOLDER/${name##*/}" "/proc/sys/$name"
done <<END
vm/overcommit_memory 1
vm/panic_on_oom 0
kernel/panic 10
kernel/panic_on_oops 1
kernel/keys/root_maxkeys 1000000
kernel/keys/root_maxbytes 25000000
END

exec "$ROLLOUT_FOLDER/drainit" --grace 0 --log-level error -- "$@"
