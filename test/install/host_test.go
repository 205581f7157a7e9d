package install

import (
	"fmt"
	"io"
	"net"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"syscall"

	"golang.org/x/sys/unix"
)

const arch = runtime.GOARCH

// Addresses of this network namespace. Both are on its loopback interface. The network plugin creates the bridge of the pods.
const (
	nodeIP    = "10.77.0.1"
	serviceIP = "10.96.0.1" // the Service kubernetes, as in internal/demo/devplane
	podRange  = "10.244.0.0/24"
)

// enter sets up the namespaces of this process so that they resemble a host.
func enter(work string) error {
	for _, m := range []struct {
		source, target, kind string
		flags                uintptr
	}{
		{"none", "/", "", syscall.MS_REC | syscall.MS_PRIVATE}, // mounts do not propagate to the host
		{"none", "/", "", syscall.MS_REC | syscall.MS_SHARED},  // mounts of the kubelet propagate into containers
		{"proc", "/proc", "proc", 0},
		{filepath.Join(work, "resolv.conf"), "/etc/resolv.conf", "", syscall.MS_BIND},
	} {
		if m.flags == syscall.MS_BIND { // a server that refuses immediately, instead of an unreachable one
			if err := os.WriteFile(m.source, []byte("nameserver 127.0.0.1\n"), 0o644); err != nil {
				return err
			}
		}
		if err := syscall.Mount(m.source, m.target, m.kind, m.flags, ""); err != nil {
			return fmt.Errorf("mount %s: %w", m.target, err)
		}
	}
	if err := up("lo"); err != nil {
		return err
	}
	for i, ip := range []string{nodeIP, serviceIP} {
		if err := address(fmt.Sprintf("lo:%d", i+1), ip); err != nil {
			return err
		}
	}
	return os.WriteFile("/proc/sys/net/ipv4/ip_forward", []byte("1"), 0o644)
}

// up activates an interface.
func up(name string) error {
	return ioctl(name, unix.SIOCSIFFLAGS, func(r *unix.Ifreq) error { r.SetUint16(unix.IFF_UP | unix.IFF_RUNNING); return nil })
}

// address gives an interface an additional address.
func address(alias, ip string) error {
	err := ioctl(alias, unix.SIOCSIFADDR, func(r *unix.Ifreq) error { return r.SetInet4Addr(net.ParseIP(ip).To4()) })
	if err != nil {
		return err
	}
	return ioctl(alias, unix.SIOCSIFNETMASK, func(r *unix.Ifreq) error { return r.SetInet4Addr(net.IPv4bcast.To4()) })
}

func ioctl(name string, request uint, fill func(*unix.Ifreq) error) error {
	r, err := unix.NewIfreq(name)
	if err != nil {
		return err
	}
	if err := fill(r); err != nil {
		return err
	}
	s, err := unix.Socket(unix.AF_INET, unix.SOCK_DGRAM, 0)
	if err != nil {
		return err
	}
	defer func() { _ = unix.Close(s) }()
	if err := unix.IoctlIfreq(s, request, r); err != nil {
		return fmt.Errorf("interface %s: %w", name, err)
	}
	return nil
}

// forward forwards the connections to an address, as kube-proxy does for the only Service that programs in pods call.
func forward(from, to string) error {
	l, err := net.Listen("tcp", from)
	if err != nil {
		return err
	}
	go func() {
		for {
			in, err := l.Accept()
			if err != nil {
				return
			}
			go pipe(in, to)
		}
	}()
	return nil
}

func pipe(in net.Conn, to string) {
	defer func() { _ = in.Close() }()
	out, err := net.Dial("tcp", to)
	if err != nil {
		return
	}
	defer func() { _ = out.Close() }()
	done := make(chan struct{}, 2)
	for _, c := range [][2]net.Conn{{in, out}, {out, in}} {
		go func() {
			_, _ = io.Copy(c[0], c[1])
			done <- struct{}{}
		}()
	}
	<-done
}

// groups returns the folders of the control groups of this process: one for each controller with version 1.
func groups() []string {
	if _, err := os.Stat("/sys/fs/cgroup/cgroup.controllers"); err == nil {
		return []string{"/sys/fs/cgroup"}
	}
	found, _ := filepath.Glob("/sys/fs/cgroup/*/cgroup.procs")
	var out []string
	for _, f := range found {
		out = append(out, filepath.Dir(f))
	}
	return out
}

// makeGroups creates the group of all pods of the kubelet.
func makeGroups(name string) error {
	for _, g := range groups() {
		if err := os.MkdirAll(filepath.Join(g, name), 0o755); err != nil {
			return err
		}
	}
	return nil
}

// removeGroups removes the groups, the innermost first.
func removeGroups(name string) {
	for _, g := range groups() {
		var all []string
		_ = filepath.WalkDir(filepath.Join(g, name), func(path string, d os.DirEntry, err error) error {
			if err == nil && d.IsDir() {
				all = append(all, path)
			}
			return nil
		})
		slices.SortFunc(all, func(a, b string) int { return strings.Count(b, "/") - strings.Count(a, "/") })
		for _, path := range all {
			_ = syscall.Rmdir(path)
		}
	}
}
