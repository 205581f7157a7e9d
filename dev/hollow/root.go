package hollow

import (
	"fmt"
	"os"
	"path/filepath"
)

// maxRootPath is the longest root folder whose sockets still have a name that fits: the kernel allows 107 bytes, and
// the longest name below the root, pod-resources/kubelet.sock, is bound under a temporary name first.
const maxRootPath = 64

// root is the folder of the kubelet's state.
type root struct {
	dir string
}

// prepareRoot creates the root folder. A path too long for sockets is replaced by a short alias of the same
// folder, the process's working folder.
func prepareRoot(dir string) (root, error) {
	for _, sub := range []string{"static", "logs", "pki"} {
		if err := os.MkdirAll(filepath.Join(dir, sub), 0o700); err != nil {
			return root{}, fmt.Errorf("creating the root folder: %w", err)
		}
	}
	if len(dir) <= maxRootPath {
		return root{dir: dir}, nil
	}
	if err := os.Chdir(dir); err != nil {
		return root{}, fmt.Errorf("entering the root folder: %w", err)
	}
	alias := "/proc/self/cwd"
	if _, err := os.Stat(filepath.Join(alias, "static")); err != nil {
		return root{}, fmt.Errorf("--root-dir=%s is longer than %d bytes, too long for the sockets below it", dir, maxRootPath)
	}
	return root{dir: alias}, nil
}

func (r root) path(name string) string { return filepath.Join(r.dir, name) }

// runtimeEndpoint is the socket of the fake container runtime. It removes a killed predecessor's socket.
func (r root) runtimeEndpoint() (string, error) {
	socket := r.path("cri.sock")
	if err := os.Remove(socket); err != nil && !os.IsNotExist(err) {
		return "", fmt.Errorf("removing the runtime socket of an earlier run: %w", err)
	}
	return "unix://" + socket, nil
}
