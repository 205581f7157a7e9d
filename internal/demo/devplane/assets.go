package devplane

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
)

// The programs of the box, by the names of their files.
const (
	Etcd              = "etcd"
	APIServer         = "kube-apiserver"
	ControllerManager = "kube-controller-manager"
	Scheduler         = "kube-scheduler"
	Kubectl           = "kubectl"
	Kwok              = "kwok"
	Kubelet           = "kubelet" // a real kubelet, for users with a container runtime
	Hollow            = "hollow"
)

// AssetsEnv names the folder of the user's own programs. It is controller-runtime's variable, so that the same folder works with
// envtest.
const AssetsEnv = "KUBEBUILDER_ASSETS"

// Programs lists every program of the box.
func Programs() []string {
	return []string{Etcd, APIServer, ControllerManager, Scheduler, Kubectl, Kwok, Kubelet, Hollow}
}

// Assets are programs ready to run.
type Assets struct {
	// Dir is the box's own folder, or the user's folder if it has all requested programs. It is a valid KUBEBUILDER_ASSETS.
	Dir string
	// UserDir is the folder of the user's KUBEBUILDER_ASSETS, whose programs take precedence; "" by default.
	UserDir string
}

// Path returns the file of a program. The error names the folders that lack it.
func (a Assets) Path(program string) (string, error) {
	var searched []string
	for _, dir := range []string{a.UserDir, a.Dir} {
		if dir == "" {
			continue
		}
		path := filepath.Join(dir, program)
		if isExecutable(path) {
			return path, nil
		}
		searched = append(searched, dir)
	}
	return "", fmt.Errorf("no program %s in %s", program, strings.Join(searched, " or "))
}

// missingFrom names the programs that are not in the folder.
func missingFrom(dir string, programs []string) []string {
	var missing []string
	for _, program := range programs {
		if !isExecutable(filepath.Join(dir, program)) {
			missing = append(missing, program)
		}
	}
	return missing
}

func isExecutable(path string) bool {
	info, err := os.Stat(path)
	return err == nil && info.Mode().IsRegular() && info.Mode()&0o111 != 0
}
