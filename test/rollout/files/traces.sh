#!/bin/sh
# traces.sh lists what a cluster may leave on this machine, each with its kind. The name of the cluster's
# folder comes on standard input, so that no process of this script has it.
set -e
read -r dir

mounts=$(cut -d' ' -f5 /proc/self/mountinfo)
echo "$mounts" | sed 's/^/mount /'
ls /sys/class/net | sed 's/^/interface /'
for save in iptables-save ip6tables-save; do
	rules=$($save)
	echo "$rules" | sed "/^#/d; s/ *\[[0-9]*:[0-9]*\]//; s/^/$save /"
done
grep . /proc/sys/vm/overcommit_memory /proc/sys/vm/panic_on_oom /proc/sys/kernel/panic /proc/sys/kernel/panic_on_oops

# Those that a kubelet and containerd make: other engines on this machine make theirs meanwhile.
find /sys/fs/cgroup -type d '(' -name 'kube*' -o -name k8s.io ')' | sed 's/^/cgroup /'

# Processes are known by the folder in their command line or environment, and by their cgroup.
{
	echo "$dir" | grep -lsaF -f - /proc/[0-9]*/cmdline /proc/[0-9]*/environ || true
	grep -ls /kubepods/ /proc/[0-9]*/cgroup || true
} | sed 's/^/process /'
