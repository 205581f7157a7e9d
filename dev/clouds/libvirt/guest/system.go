package guest

import (
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"golang.org/x/sys/unix"
)

// mounts mounts the file systems that an init process must mount. /proc, /sys and /dev are mounted already.
func mounts() (err error) {
	for _, m := range []struct{ what, where, kind string }{
		{"tmpfs", "/run", "tmpfs"},
		{"tmpfs", "/tmp", "tmpfs"},
		{"devpts", "/dev/pts", "devpts"},
		{"shm", "/dev/shm", "tmpfs"},
		{"mqueue", "/dev/mqueue", "mqueue"},
		{"cgroup2", "/sys/fs/cgroup", "cgroup2"},
	} {
		if e := os.MkdirAll(m.where, 0o755); e == nil || os.IsExist(e) {
			err = errors.Join(err, wrapped("mount "+m.where, unix.Mount(m.what, m.where, m.kind, 0, "")))
		}
	}
	// The kubelet's mounts propagate into containers.
	return errors.Join(err, wrapped("share mounts", unix.Mount("", "/", "", unix.MS_SHARED|unix.MS_REC, "")))
}

func wrapped(what string, err error) error {
	if err == nil {
		return nil
	}
	return fmt.Errorf("%s: %w", what, err)
}

// modules loads all kernel modules of a folder, in the order of their names.
func modules(dir string) (err error) {
	files, _ := filepath.Glob(dir + "/*.ko")
	slices.Sort(files)
	for _, name := range files {
		f, e := os.Open(name)
		if e == nil {
			e = unix.FinitModule(int(f.Fd()), "", 0)
			_ = f.Close()
		}
		if e != nil && !errors.Is(e, unix.EEXIST) {
			err = errors.Join(err, fmt.Errorf("load %s: %w", filepath.Base(name), e))
		}
	}
	return err
}

// groups delegates the cgroup controllers, which is only possible in a cgroup without processes.
func groups() error {
	if err := os.MkdirAll("/sys/fs/cgroup/init", 0o755); err != nil {
		return err
	}
	if err := os.WriteFile("/sys/fs/cgroup/init/cgroup.procs", []byte("1"), 0o644); err != nil { //nolint:gosec // The kernel decides.
		return err
	}
	return os.WriteFile("/sys/fs/cgroup/cgroup.subtree_control", []byte("+cpu +cpuset +memory +pids +io"), 0o644) //nolint:gosec // The kernel decides.
}

// dhcp is the script that the DHCP client runs with the lease.
const dhcp = `#!/bin/sh
[ "$1" = bound ] || [ "$1" = renew ] || exit 0
ip addr replace "$ip/$mask" dev "$interface"
[ -z "$router" ] || ip route replace default via "$router"
[ -z "$hostname" ] || echo "$hostname" > /run/hostname
echo "nameserver ${dns:-127.0.0.1}" > /etc/resolv.conf
`

// network requests an address, and renews it.
func network() error {
	if err := os.WriteFile("/run/dhcp", []byte(dhcp), 0o755); err != nil { //nolint:gosec // It is run.
		return err
	}
	if err := run("/bin/ip", "link", "set", "lo", "up"); err != nil {
		return err
	}
	for range 100 {
		if _, err := os.Stat("/sys/class/net/eth0"); err == nil {
			break
		}
		time.Sleep(50 * time.Millisecond)
	}
	if err := os.WriteFile("/proc/sys/net/ipv4/ip_forward", []byte("1"), 0o644); err != nil { //nolint:gosec // The kernel decides.
		return err
	}
	if err := run("/bin/ip", "link", "set", "eth0", "up"); err != nil {
		return err
	}
	// The client continues in the background once it has an address.
	return run("/bin/udhcpc", "-i", "eth0", "-s", "/run/dhcp", "-t", "20", "-T", "2", "-A", "2", "-S")
}

// forward forwards connections from an address of the guest to another one.
func forward(from, to string) error {
	if !strings.HasPrefix(from, "127.") && !strings.HasPrefix(from, "localhost") {
		return nil // no forwarding needed
	}
	l, err := net.Listen("tcp", from)
	if err != nil {
		return err
	}
	go Forward(l, to)
	return nil
}

// Forward forwards connections of l to an address over TCP, until l is closed.
func Forward(l net.Listener, to string) {
	for {
		near, err := l.Accept()
		if err != nil {
			return
		}
		go join(near, to)
	}
}

// join copies data between two connections in both directions, until both sides have ended.
func join(near net.Conn, to string) {
	defer func() { _ = near.Close() }()
	far, err := net.DialTimeout("tcp", to, 10*time.Second)
	if err != nil {
		return
	}
	defer func() { _ = far.Close() }()
	done := make(chan struct{}, 2)
	pass := func(to, from net.Conn) {
		_, _ = io.Copy(to, from)
		if half, ok := to.(interface{ CloseWrite() error }); ok {
			_ = half.CloseWrite()
		}
		done <- struct{}{}
	}
	go pass(far, near)
	go pass(near, far)
	<-done
	<-done
}
